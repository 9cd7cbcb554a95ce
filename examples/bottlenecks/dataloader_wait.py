"""Scores photographs that PyTorch's DataLoader reads and scales.

Slow:  one worker process; the model waits for every batch.
Fixed: as many workers as keep up with the model, and pinned batches.
"""

import os
import zlib

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from harness import Clock, options
from models import build, convnet


class Photographs(Dataset):
    """Compressed pictures; one is unpacked, flipped and scaled when it is asked for."""

    def __init__(self, size, count=100000, stored=16):
        rng = np.random.default_rng(7)
        self.shape = (3, size, size)
        self.count = count
        self.packed = [zlib.compress(rng.integers(0, 64, self.shape, dtype=np.uint8).tobytes(), 6)
                       for _ in range(stored)]

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        pixels = np.frombuffer(zlib.decompress(self.packed[number % len(self.packed)]), np.uint8)
        picture = pixels.reshape(self.shape).astype(np.float32) / 63
        return torch.from_numpy(np.ascontiguousarray(picture[:, :, ::-1]))


class Scorer:
    def __init__(self, model, device):
        self.model = model
        self.device = device

    @torch.inference_mode()
    def score(self, pictures):
        scores = self.model(pictures.to(self.device, non_blocking=True))
        return scores.argmax(dim=-1).tolist()


def main():
    args = options(__doc__, steps=60, cpu_steps=25)
    batch, size = (32, 224) if args.on_gpu else (8, 160)
    workers = max(2, min(12, (os.cpu_count() or 2) - 2)) if args.fixed else 1
    loader = DataLoader(Photographs(size), batch_size=batch, num_workers=workers,
                        pin_memory=args.on_gpu)
    scorer = Scorer(build(lambda: convnet(64 if args.on_gpu else 2, labels=9), args.device),
                    args.device)
    clock = Clock(args)
    for pictures in loader:  # <- slow
        if clock.step(scorer.score(pictures)):
            break
    clock.finish()


if __name__ == "__main__":
    main()
