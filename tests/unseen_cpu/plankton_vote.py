"""Counts plankton: three networks vote on each plate. Exit status 3: they disagree too much.

    plankton_vote.py
"""

import sys
import time

import torch
from torch import nn


def small(channels):
    return nn.Sequential(
        nn.Conv2d(3, channels, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(channels, channels, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(channels, 2 * channels, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(2 * channels, 12),
    )


class Ensemble(nn.Module):
    def __init__(self, members):
        super().__init__()
        self.members = nn.ModuleList(members)

    def forward(self, plates):
        votes = torch.stack([member(plates).argmax(1) for member in self.members])
        return votes.mode(0).values, (votes == votes[0]).all(0).float().mean()


def main():
    torch.manual_seed(14)
    model = Ensemble([small(24), small(32), small(40)]).eval()
    plates = torch.rand(8, 3, 96, 96)
    agreement, counts, steps = 0.0, torch.zeros(12, dtype=torch.long), 30
    began = time.perf_counter()
    with torch.inference_mode():
        for step in range(steps):
            winner, agreed = model(plates.roll(step, 0))
            counts += torch.bincount(winner, minlength=12)
            agreement += agreed.item()
    took = time.perf_counter() - began
    print("counts", counts.tolist())
    print(f"{steps} plates of {1e3 * took / steps:.2f} ms: {steps / took:.2f} steps/s")
    return 3 if agreement / steps < 0.9 else 0


if __name__ == "__main__":
    sys.exit(main())
