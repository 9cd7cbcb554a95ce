"""Embeds clips of video in mixed precision; a thread of its own feeds the GPU, so that the main one
can cut the next clip."""

import argparse
import collections
import contextlib
import json
import time
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn.functional as F
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
FRAMES, SIZE, WIDTH, LAYERS, HEADS = (64, 224, 768, 8, 12) if CUDA else (2, 64, 64, 2, 4)
PATCH = 16


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(),
                                 nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        rows, length, _ = x.shape
        qkv = self.qkv(self.before(x)).view(rows, length, 3, HEADS, WIDTH // HEADS)  # <- slow
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v)  # <- slow
        x = x + self.out(seen.transpose(1, 2).reshape(rows, length, WIDTH))  # <- slow
        return x + self.mlp(self.between(x))  # <- slow


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, PATCH, PATCH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))

    def forward(self, frames):
        tokens = self.patches(frames).flatten(2).mT
        return self.blocks(tokens).mean((0, 1))  # <- slow


class Embedder:
    def __init__(self, precision):
        torch.manual_seed(0)
        with torch.device(DEVICE):
            self.tower = Tower().eval()
        self.precision = precision

    @torch.inference_mode()
    def embed(self, clip):
        with self.precision():
            frames = clip.to(DEVICE, non_blocking=True).float().div_(255)
            return self.tower(frames).float().cpu()  # <- slow


class Film:
    """Clips, cut one by one from a stretch of film."""

    def __init__(self):
        frames = torch.randint(0, 256, (2 * FRAMES, 3, SIZE, SIZE), dtype=torch.uint8)
        self.frames, self.at = frames.pin_memory() if CUDA else frames, 0

    def clip(self):
        self.at = (self.at + 8) % FRAMES
        return self.frames[self.at:self.at + FRAMES]


def mixed():
    return torch.autocast(DEVICE, torch.bfloat16)


def run(args):
    film = Film()
    embedder = Embedder(mixed if args.fixed else contextlib.nullcontext)
    with mixed(), ThreadPoolExecutor(1, "gpu") as gpu:  # <- slow
        for _ in range(3):
            gpu.submit(embedder.embed, film.clip()).result()
        done, total, start, coming = 0, 0.0, time.perf_counter(), collections.deque()
        while done < 6 or time.perf_counter() - start < args.seconds:
            while len(coming) < 2:
                coming.append(gpu.submit(embedder.embed, film.clip()))
            total += coming.popleft().result().norm().item()
            done += 1
        took = time.perf_counter() - start
    print("%.0f frames/s, mean norm %.1f" % (done * FRAMES / took, total / done))
    print(json.dumps({"digest": 0, "steps": done, "ms_per_step": took * 1000 / done}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seconds", type=float, default=3)
    run(parser.parse_args())
