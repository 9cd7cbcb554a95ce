"""Classifies drawings that are stored as runs of ink: a Dataset, a DataLoader, an evaluation loop.

    sketch_loader.py [--fixed]
"""

import argparse
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

SIDE = 128


class SketchDataset(Dataset):
    """Each drawing: (start, length, darkness) of its runs, row after row."""

    def __init__(self, count, fixed):
        rng = np.random.default_rng(3)
        self.fixed = fixed
        starts = np.sort(rng.integers(0, SIDE * SIDE - 40, (count, 160)))
        lengths = rng.integers(8, 40, (count, 160))
        self.runs = np.stack([starts, lengths, rng.integers(1, 255, (count, 160))], 2)
        self.labels = rng.integers(0, 10, count)

    def __len__(self):
        return len(self.runs)

    def __getitem__(self, index):
        draw = self.rasterize_fast if self.fixed else self.rasterize
        return draw(self.runs[index]), int(self.labels[index])

    def rasterize(self, runs):
        pixels = [0.0] * (SIDE * SIDE)
        for start, length, darkness in runs.tolist():
            for position in range(start, start + length):
                pixels[position] = max(pixels[position], darkness / 255)
        mean = sum(pixels) / len(pixels)
        pixels = [value - mean for value in pixels]
        return torch.tensor(pixels).view(1, SIDE, SIDE)

    def rasterize_fast(self, runs):
        pixels = np.zeros(SIDE * SIDE, np.float32)
        lengths = runs[:, 1]
        first = np.repeat(runs[:, 0] - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
        ink = np.repeat(runs[:, 2] / 255, lengths).astype(np.float32)
        np.maximum.at(pixels, first + np.arange(lengths.sum()), ink)
        return torch.from_numpy(pixels - pixels.mean()).view(1, SIDE, SIDE)


def build_model():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
        nn.Linear(512, 10),
    ).eval()


@torch.inference_mode()
def evaluate(model, loader):
    right = batches = 0
    for images, labels in loader:
        predicted = model(images).argmax(1)
        right += (predicted == labels).sum().item()
        batches += 1
    return right, batches


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--drawings", type=int, default=1600)
    args = parser.parse_args()
    torch.manual_seed(3)
    torch.set_num_threads(1)
    loader = DataLoader(SketchDataset(args.drawings, args.fixed), batch_size=16, num_workers=1)
    began = time.perf_counter()
    right, batches = evaluate(build_model(), loader)
    took = time.perf_counter() - began
    print("right", right)
    print(f"{batches} batches of {1e3 * took / batches:.2f} ms: {batches / took:.2f} steps/s")


if __name__ == "__main__":
    main()
