"""Classifies tiles of satellite pictures that a DataLoader's only worker prepares."""

import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

SIDE = 64


class Tiles(Dataset):
    def __len__(self):
        return 100000

    def __getitem__(self, nth):
        """The run lengths of a tile, unpacked."""
        values, state = [], nth + 1
        while len(values) < SIDE * SIDE:
            state = (state * 1103515245 + 12345) % 2147483648
            values.extend([state / 2147483648] * (1 + state // 65536 % 2))
        return torch.tensor(values[:SIDE * SIDE]).view(1, SIDE, SIDE)


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 64, 5, stride=2), nn.ReLU(), nn.Conv2d(64, 128, 3), nn.ReLU(),
                         nn.AdaptiveMaxPool2d(4), nn.Flatten(), nn.Linear(2048, 10))


@torch.inference_mode()
def classify(model, loader, device, seconds):
    counts = torch.zeros(10, dtype=torch.long, device=device)
    steps, start = 0, None
    for tiles in loader:  # <- slow
        if start is None:  # the worker has come up
            start = time.perf_counter()
        labels = model(tiles.to(device, non_blocking=True)).argmax(1)
        counts += torch.bincount(labels, minlength=10)
        steps += 1
        if steps >= 20 and time.perf_counter() - start >= seconds:
            break
    counts.tolist()
    return steps, (time.perf_counter() - start) * 1000 / steps


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    model = build().to(args.device).eval()
    loader = DataLoader(Tiles(), batch_size=32, num_workers=1, pin_memory=args.device == "cuda")
    print("steps=%d ms_per_step=%.3f" % classify(model, loader, args.device, args.seconds))


if __name__ == "__main__":
    main()
