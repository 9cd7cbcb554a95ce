"""Embeds documents with a mixture-of-experts encoder: a router picks the expert of each token."""

import argparse
import json
import time

import torch
import torch.nn.functional as F
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.bfloat16) if CUDA else ("cpu", torch.float32)
TOKENS, WIDTH, EXPERTS, LAYERS = (16384, 1024, 8, 4) if CUDA else (256, 64, 4, 2)


class Expert(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class RoutedLayer(nn.Module):
    def __init__(self, width, experts):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.router = nn.Linear(width, experts)
        self.experts = nn.ModuleList(Expert(width) for _ in range(experts))

    def route(self, x):
        weights = torch.softmax(self.router(x), dim=-1)
        return weights.max(dim=-1)

    def forward(self, x):
        normed = self.norm(x)
        weight, choice = self.route(normed)
        out = torch.empty_like(x)
        for nth, expert in enumerate(self.experts):
            rows = torch.nonzero(choice == nth).flatten()  # <- slow
            out[rows] = expert(normed[rows]) * weight[rows, None]  # <- slow
        return x + out


class SortedLayer(RoutedLayer):
    """All tokens of an expert stand side by side: their numbers are fetched once."""

    def forward(self, x):
        normed = self.norm(x)
        weight, choice = self.route(normed)
        order = choice.argsort()
        counts = torch.bincount(choice, minlength=len(self.experts)).tolist()
        parts = normed[order].split(counts)
        done = torch.cat([expert(part) for expert, part in zip(self.experts, parts)])
        out = torch.empty_like(x)
        out[order] = done
        return x + out * weight[:, None]


class Encoder(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.layers = nn.ModuleList(kind(WIDTH, EXPERTS) for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, 16)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x.view(16, -1, WIDTH).mean(1))


def batches(count):
    """Token vectors of documents that wait on the device, over and over."""
    waiting = [torch.randn(TOKENS, WIDTH, device=DEVICE, dtype=DTYPE) for _ in range(count)]
    while True:
        yield from waiting


@torch.inference_mode()
def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    torch.manual_seed(0)
    model = Encoder(SortedLayer if args.fixed else RoutedLayer).to(DEVICE, DTYPE).eval()
    labels, steps, start = [], -3, None
    for documents in batches(4):
        if steps == 0:
            start = time.perf_counter()
        answer = model(documents).argmax(-1).tolist()
        steps += 1
        if len(labels) < 4:
            labels.append(answer)
        if start and steps >= 20 and time.perf_counter() - start >= args.seconds:
            break
    ms = (time.perf_counter() - start) * 1000 / steps
    print("%.1f steps/s" % (1000 / ms))
    print(json.dumps({"digest": sum(map(sum, labels)), "steps": steps, "ms_per_step": ms}))


if __name__ == "__main__":
    main()
