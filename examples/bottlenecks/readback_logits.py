"""Proposes the next word of many texts; the scores of all words are fetched to choose one.

Slow:  every position's scores of the whole vocabulary come back to the host, for a few numbers.
Fixed: the GPU chooses, and the chosen words come back.
"""

import itertools

import torch

from harness import Clock, options
from models import build, classifier


class HostChoice:
    def __call__(self, scores):
        scores = scores.cpu()  # <- slow
        return scores[:, -1].argmax(dim=-1).tolist()


class DeviceChoice:
    def __call__(self, scores):
        return scores[:, -1].argmax(dim=-1).tolist()


class Proposer:
    def __init__(self, model, choose, device):
        self.model = model
        self.choose = choose
        self.device = device

    @torch.inference_mode()
    def propose(self, texts):
        scores = self.model(texts.to(self.device, non_blocking=True))
        return self.choose(scores)


def typed(batch, tokens, vocabulary):
    """What people have typed so far, as token ids."""
    stored = [torch.randint(0, vocabulary, (batch, tokens)).pin_memory() for _ in range(8)]
    return itertools.cycle(stored)


def main():
    args = options(__doc__, steps=60)
    batch, tokens, vocabulary = 16, 128, 32000
    model = build(lambda: classifier(vocabulary, 512, 8, 6, vocabulary), args.device,
                  args.dtype)
    proposer = Proposer(model, (DeviceChoice if args.fixed else HostChoice)(), args.device)
    clock = Clock(args)
    for texts in typed(batch, tokens, vocabulary):
        if clock.step(proposer.propose(texts)):
            break
    clock.finish()


if __name__ == "__main__":
    main()
