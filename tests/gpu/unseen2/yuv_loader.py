"""Finds defects in frames of a line camera; the frames come as planes of luma and chroma."""

import argparse
import json
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
SIDE, BATCH = (256, 16) if CUDA else (32, 4)
MEAN = np.array([0.485, 0.456, 0.406], dtype=np.float32)[:, None, None]
STD = np.array([0.229, 0.224, 0.225], dtype=np.float32)[:, None, None]


def decode(luma, chroma):
    """A picture of three colours, as the model wants it."""
    y = luma.astype(np.float32)
    u, v = (np.repeat(np.repeat(plane, 2, 0), 2, 1).astype(np.float32) - 128  # <- slow
            for plane in chroma)
    red = y + 1.402 * v  # <- slow
    green = y - 0.344136 * u - 0.714136 * v  # <- slow
    blue = y + 1.772 * u  # <- slow
    picture = np.clip(np.stack([red, green, blue]), 0, 255) / np.float32(255)  # <- slow
    return (picture - MEAN) / STD  # <- slow


class Frames(Dataset):
    """The newest frames of the camera, which come round again."""

    def __init__(self, decoded):
        random = np.random.default_rng(2)
        self.luma = random.integers(0, 256, (64, SIDE, SIDE), dtype=np.uint8)
        self.chroma = random.integers(0, 256, (64, 2, SIDE // 2, SIDE // 2), dtype=np.uint8)
        self.decoded = decoded

    def __len__(self):
        return 1 << 20

    def __getitem__(self, nth):
        luma, chroma = self.luma[nth % 64], self.chroma[nth % 64]
        return decode(luma, chroma) if self.decoded else (luma, chroma)


class Decoder(nn.Module):
    """decode() of a whole batch, where the model is."""

    def __init__(self):
        super().__init__()
        self.register_buffer("colours", torch.tensor([[1, 0, 1.402], [1, -0.344136, -0.714136],
                                                      [1, 1.772, 0]]))
        self.register_buffer("mean", torch.from_numpy(MEAN))
        self.register_buffer("std", torch.from_numpy(STD))

    def forward(self, planes):
        luma, chroma = planes
        chroma = chroma.repeat_interleave(2, 2).repeat_interleave(2, 3).float() - 128
        mixed = torch.cat([luma[:, None].float(), chroma], 1)
        picture = torch.einsum("cd,bdhw->bchw", self.colours, mixed).clamp(0, 255) / 255
        return (picture - self.mean) / self.std


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 64, 7, stride=4), nn.ReLU(), nn.Conv2d(64, 128, 3, stride=2),
                         nn.ReLU(), nn.Conv2d(128, 128, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Linear(128, 5))


@torch.inference_mode()
def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    model = build()
    if args.fixed:
        model = nn.Sequential(Decoder(), *model)
    model = model.to(DEVICE).eval()
    loader = DataLoader(Frames(decoded=not args.fixed), batch_size=BATCH, num_workers=0)
    defects, steps, start = [], -3, time.perf_counter()
    for frames in loader:
        if steps == 0:
            start = time.perf_counter()
        frames = [each.to(DEVICE) for each in frames] if args.fixed else frames.to(DEVICE)
        found = model(frames).argmax(1).tolist()
        steps += 1
        if len(defects) < 8:
            defects.append(found)
        if steps >= 20 and time.perf_counter() - start >= args.seconds:
            break
    ms = (time.perf_counter() - start) * 1000 / steps
    print("%.1f steps/s" % (1000 / ms))
    print(json.dumps({"digest": sum(map(sum, defects)), "steps": steps, "ms_per_step": ms}))


if __name__ == "__main__":
    main()
