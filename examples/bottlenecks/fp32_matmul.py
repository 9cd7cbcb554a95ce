"""Embeds documents with an encoder in single precision, as it came from training.

Slow:  matrix products in full fp32: the tensor cores do nothing.
Fixed: bfloat16 weights and activations.
"""

import torch
from torch import nn

from harness import Clock, options
from models import build

WIDTH, LAYERS, DEPTH = 2048, 6, 4


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(LAYERS))
        self.wider = nn.ModuleList(nn.Linear(WIDTH, DEPTH * WIDTH) for _ in range(LAYERS))
        self.narrower = nn.ModuleList(nn.Linear(DEPTH * WIDTH, WIDTH) for _ in range(LAYERS))

    def forward(self, hidden):
        for norm, wider, narrower in zip(self.norms, self.wider, self.narrower):
            inner = wider(norm(hidden)).relu_()  # <- slow
            hidden = hidden + narrower(inner)  # <- slow
        return hidden.mean(dim=1)


class Embedder:
    def __init__(self, model, dtype, device):
        self.model = model
        self.dtype = dtype
        self.device = device

    @torch.inference_mode()
    def embed(self, documents):
        vectors = self.model(documents.to(self.device, non_blocking=True).to(self.dtype))
        return vectors.float().norm(dim=-1).tolist()


def main():
    args = options(__doc__, steps=80)
    dtype = torch.bfloat16 if args.fixed else torch.float32
    embedder = Embedder(build(Encoder, args.device, dtype), dtype, args.device)
    stored = [torch.randn(16, 128, WIDTH).pin_memory() for _ in range(4)]
    clock = Clock(args)
    while True:
        embedder.embed(stored[clock.count % len(stored)])
        if clock.step(None):
            break
    clock.finish()


if __name__ == "__main__":
    main()
