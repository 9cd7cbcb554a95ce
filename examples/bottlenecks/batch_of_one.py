"""Scores the applications that have come in since the last look, 32 at a time.

Slow:  each of them goes through the model by itself; all weights are read for one row.
Fixed: all of them go through it together.
"""

import torch
from torch import nn

from harness import Clock, options
from models import build

WIDTH, LAYERS = 8192, 8
WAITING = 32


def scorer():
    parts = []
    for _ in range(LAYERS):
        parts += [nn.Linear(WIDTH, WIDTH), nn.ReLU()]
    return nn.Sequential(*parts, nn.Linear(WIDTH, 1))


class Desk:
    def __init__(self, model, device):
        self.model = model
        self.device = device

    def score_each(self, applications):
        rows = applications.split(1)
        return torch.cat([self.model(row) for row in rows])  # <- slow

    def score_together(self, applications):
        return self.model(applications)

    @torch.inference_mode()
    def handle(self, applications, together):
        applications = applications.to(self.device, non_blocking=True)
        scores = (self.score_together if together else self.score_each)(applications)
        return scores.squeeze(-1).float().tolist()


def main():
    args = options(__doc__, steps=150)
    desk = Desk(build(scorer, args.device, torch.bfloat16), args.device)
    stored = [torch.randn(WAITING, WIDTH, dtype=torch.bfloat16).pin_memory() for _ in range(4)]
    clock = Clock(args)
    while True:
        desk.handle(stored[clock.count % len(stored)], together=args.fixed)
        if clock.step(None):
            break
    clock.finish()


if __name__ == "__main__":
    main()
