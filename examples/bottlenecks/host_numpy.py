"""Classifies camera frames; they are scaled and normalised with NumPy on the host.

Slow:  four passes over the pixels in NumPy, then four times as many bytes go to the GPU.
Fixed: the bytes go to the GPU as they are, and the arithmetic is done there.
"""

import itertools

import numpy as np
import torch

from harness import Clock, options
from models import build, convnet

MEAN = np.array([0.485, 0.456, 0.406], dtype=np.float32)
DEVIATION = np.array([0.229, 0.224, 0.225], dtype=np.float32)


class HostPreprocessor:
    def __init__(self, device):
        self.device = device

    def __call__(self, frames):
        scaled = frames.astype(np.float32) / 255.0  # <- slow
        normal = (scaled - MEAN) / DEVIATION  # <- slow
        planes = np.ascontiguousarray(normal.transpose(0, 3, 1, 2))  # <- slow
        return torch.from_numpy(planes).to(self.device)


class DevicePreprocessor:
    def __init__(self, device):
        self.device = device
        self.mean = torch.from_numpy(MEAN * 255).to(device)
        self.deviation = torch.from_numpy(DEVIATION * 255).to(device)

    def __call__(self, frames):
        pixels = torch.from_numpy(frames).to(self.device)
        return ((pixels - self.mean) / self.deviation).permute(0, 3, 1, 2).contiguous()


class Classifier:
    def __init__(self, preprocess, model):
        self.preprocess = preprocess
        self.model = model

    @torch.inference_mode()
    def classify(self, frames):
        scores = self.model(self.preprocess(frames))
        return scores.argmax(dim=-1).tolist()


def camera(batch, size, seed=7):
    """Frames as a camera delivers them: bytes, the colours of a pixel side by side."""
    rng = np.random.default_rng(seed)
    stored = [rng.integers(0, 256, (batch, size, size, 3), dtype=np.uint8) for _ in range(4)]
    return itertools.cycle(stored)


def main():
    args = options(__doc__, steps=60, cpu_steps=30)
    batch, size = (16, 512) if args.on_gpu else (4, 256)
    preprocess = (DevicePreprocessor if args.fixed else HostPreprocessor)(args.device)
    model = build(lambda: convnet(32 if args.on_gpu else 2, labels=10), args.device)
    classifier = Classifier(preprocess, model)
    clock = Clock(args)
    for frames in camera(batch, size):
        if clock.step(classifier.classify(frames)):
            break
    clock.finish()


if __name__ == "__main__":
    main()
