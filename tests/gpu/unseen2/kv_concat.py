"""Writes continuations of long prompts, a batch at a time, with a cache of keys and values."""

import argparse
import json
import time

import torch
import torch.nn.functional as F
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.bfloat16) if CUDA else ("cpu", torch.float32)
BATCH, HEADS, LAYERS, PROMPT, NEW = (64, 16, 8, 1024, 32) if CUDA else (2, 2, 2, 16, 4)
WIDTH, VOCABULARY = 64 * HEADS, 8192 if CUDA else 128


class GrowingCache:
    def __init__(self, keys, values):
        self.keys, self.values = keys, values

    def append(self, key, value):
        self.keys = torch.cat([self.keys, key], dim=2)  # <- slow
        self.values = torch.cat([self.values, value], dim=2)  # <- slow
        return self.keys, self.values


class FixedCache:
    """Has room for the whole answer from the beginning."""

    def __init__(self, keys, values):
        shape = list(keys.shape)
        self.length, shape[2] = shape[2], shape[2] + NEW
        self.keys, self.values = keys.new_empty(shape), values.new_empty(shape)
        self.keys[:, :, :self.length] = keys
        self.values[:, :, :self.length] = values

    def append(self, key, value):
        at, self.length = self.length, self.length + 1
        self.keys[:, :, at:at + 1] = key
        self.values[:, :, at:at + 1] = value
        return self.keys[:, :, :self.length], self.values[:, :, :self.length]


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(),
                                 nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x, cache):
        query, key, value = (part.view(BATCH, 1, HEADS, 64).transpose(1, 2)
                             for part in self.qkv(self.norm(x)).chunk(3, dim=-1))
        keys, values = cache.append(key, value)
        seen = F.scaled_dot_product_attention(query, keys, values)
        x = x + self.out(seen.transpose(1, 2).reshape(BATCH, 1, WIDTH))
        return x + self.mlp(x)


class Writer(nn.Module):
    def __init__(self, cache_kind):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)
        self.cache_kind = cache_kind

    def continuation(self, prompt_keys, prompt_values, word):
        """Yields the next word of each sequence, NEW times."""
        caches = [self.cache_kind(*pair) for pair in zip(prompt_keys, prompt_values)]
        for _ in range(NEW):
            x = self.words(word)
            for block, cache in zip(self.blocks, caches):
                x = block(x, cache)
            word = self.head(x).argmax(-1)
            yield word


@torch.inference_mode()
def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    torch.manual_seed(0)
    model = Writer(FixedCache if args.fixed else GrowingCache).to(DEVICE, DTYPE).eval()
    shape = (BATCH, HEADS, PROMPT, 64)
    keys, values = ([torch.randn(shape, device=DEVICE, dtype=DTYPE) for _ in range(LAYERS)]
                    for _ in range(2))
    first = torch.zeros(BATCH, 1, dtype=torch.long, device=DEVICE)

    def request():
        return torch.cat(list(model.continuation(keys, values, first)), dim=1).tolist()

    digest = sum(map(sum, request())) % 9973
    steps, start = 0, time.perf_counter()
    while steps < 2 * NEW or time.perf_counter() - start < args.seconds:
        request()
        steps += NEW
    ms = (time.perf_counter() - start) * 1000 / steps
    print("%.1f steps/s" % (1000 / ms))
    print(json.dumps({"digest": digest, "steps": steps, "ms_per_step": ms}))


if __name__ == "__main__":
    main()
