"""Embeds pictures with a vision transformer, batch after batch, for a search index."""

import argparse
import contextlib
import json
import time

import torch
import torch.nn.functional as F
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
BATCH, SIDE, WIDTH, LAYERS = (48, 224, 768, 12) if CUDA else (2, 64, 64, 2)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.heads = heads

    def forward(self, x):
        batch, tokens, width = x.shape
        split = self.qkv(x).view(batch, tokens, 3, self.heads, width // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(query, key, value)
        return self.out(seen.transpose(1, 2).reshape(batch, tokens, width))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, max(1, width // 64))
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(),
                                 nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class VisionTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, 16, stride=16)
        self.places = nn.Parameter(torch.randn(1, (SIDE // 16) ** 2, WIDTH) * 0.02)
        self.blocks = nn.Sequential(*(Block(WIDTH) for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, pictures):
        x = self.patches(pictures).flatten(2).transpose(1, 2) + self.places
        return F.normalize(self.norm(self.blocks(x)).mean(1), dim=-1)


class Indexer:
    def __init__(self, autocast):
        torch.manual_seed(0)
        self.model = VisionTransformer().to(DEVICE).eval()
        self.precision = torch.autocast(DEVICE, torch.bfloat16) if autocast else \
            contextlib.nullcontext()

    @torch.inference_mode()
    def add(self, pictures):
        with self.precision:
            vectors = self.model(pictures)  # <- slow
        return vectors.float().cpu()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    indexer = Indexer(autocast=args.fixed)
    pictures = torch.rand(4, BATCH, 3, SIDE, SIDE, device=DEVICE)
    for batch in pictures[:3]:
        indexer.add(batch)
    steps, start = 0, time.perf_counter()
    while steps < 20 or time.perf_counter() - start < args.seconds:
        indexer.add(pictures[steps % 4])
        steps += 1
    ms = (time.perf_counter() - start) * 1000 / steps
    print("%.1f steps/s, %.0f pictures/s" % (1000 / ms, 1000 * BATCH / ms))
    print(json.dumps({"digest": 0, "steps": steps, "ms_per_step": ms}))


if __name__ == "__main__":
    main()
