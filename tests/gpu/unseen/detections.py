"""A one-stage detector over camera frames: keeps the boxes that are likely enough."""

import argparse
import time

import torch
import torch.nn.functional as F
from torch import nn


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        widths = [3, 32, 64, 128, 128]
        self.stages = nn.ModuleList(nn.Conv2d(a, b, 3, stride=2, padding=1)
                                    for a, b in zip(widths, widths[1:]))
        self.head = nn.Conv2d(128, 5, 1)

    def forward(self, frame):
        for stage in self.stages:
            frame = F.relu(stage(frame))
        return self.head(frame).flatten(2)[0].T


def keep_likely(rows, threshold):
    boxes = rows[:, :4]
    likely = torch.sigmoid(rows[:, 4])
    kept = []
    for nth in range(likely.shape[0]):
        if likely[nth].item() > threshold:  # <- slow
            kept.append(nth)
    return boxes[kept]


@torch.inference_mode()
def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    torch.manual_seed(0)
    model = Detector().to(args.device).eval()
    frames = torch.randn(8, 1, 3, 384, 384, device=args.device)  # 576 boxes each
    keep_likely(model(frames[0]), 0.5)
    found, steps, start = 0, 0, time.perf_counter()
    while steps < 20 or time.perf_counter() - start < args.seconds:
        found += len(keep_likely(model(frames[steps % 8]), 0.5))
        steps += 1
    ms = (time.perf_counter() - start) * 1000 / steps
    print("boxes kept:", found)
    print("steps=%d ms_per_step=%.3f" % (steps, ms))


if __name__ == "__main__":
    main()
