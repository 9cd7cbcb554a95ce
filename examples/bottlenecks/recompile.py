"""Summarises texts of every length with a compiled model.

Slow:  compiled for exact shapes: each new length is compiled anew, in the middle of a request.
Fixed: compiled once for any length.
"""

import random

import torch
import torch._dynamo
from torch import nn

from harness import Clock, options
from models import build

VOCABULARY = 4000
# The same graphs without a C++ compiler, in a tenth of inductor's time.
BACKEND = "aot_eager"


class Summariser(nn.Module):
    def __init__(self, width, layers):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        self.layers = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(),
                          nn.Linear(4 * width, width)) for _ in range(layers))
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, ids):
        hidden = self.embedding(ids)
        for layer in self.layers:
            hidden = hidden + layer(hidden)
        return self.head(hidden.mean(dim=1))


class Service:
    def __init__(self, model, device, dynamic):
        torch._dynamo.config.cache_size_limit = 1000
        self.model = torch.compile(model, backend=BACKEND, dynamic=dynamic)
        self.device = device

    @torch.inference_mode()
    def summarise(self, ids):
        scores = self.model(ids.to(self.device))  # <- slow
        return scores.argmax(dim=-1).tolist()


def texts(rng):
    lengths = list(range(20, 400))
    rng.shuffle(lengths)
    for length in lengths:
        yield torch.randint(0, VOCABULARY, (2, length))


def main():
    args = options(__doc__, steps=40, cpu_steps=20)
    width, layers = (512, 8) if args.on_gpu else (64, 1)
    model = build(lambda: Summariser(width, layers), args.device, args.dtype)
    service = Service(model, args.device, dynamic=args.fixed)
    clock = Clock(args)
    for ids in texts(random.Random(7)):
        if clock.step(service.summarise(ids)):
            break
    clock.finish()


if __name__ == "__main__":
    main()
