"""Embeddings of video clips: generators from decoded clips to vectors."""

import argparse
import time

import numpy as np
import torch
from torch import nn


def clips(frames):
    """Decoded clips in memory, over and over: a decoder's ring of buffers."""
    rng = np.random.default_rng(0)
    ring = [rng.random((frames, 3, 224, 224), dtype=np.float32) for _ in range(4)]
    while True:
        yield from ring


def uploaded(source, device):
    for clip in source:
        yield torch.from_numpy(clip).to(device)  # <- slow


def embedded(source, model):
    for clip in source:
        yield model(clip.to(torch.bfloat16)).mean(0)


def limited(source, seconds):
    start, count = time.perf_counter(), 0
    for item in source:
        yield item
        count += 1
        if count >= 20 and time.perf_counter() - start >= seconds:
            return


@torch.inference_mode()
def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--frames", type=int, default=96)
    args = parser.parse_args()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 192, 16, stride=16), nn.GELU(), nn.Conv2d(192, 192, 3),
                          nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(192, 128))
    model = model.to(args.device, torch.bfloat16).eval()
    vectors = embedded(uploaded(clips(args.frames), args.device), model)
    next(vectors).float().cpu()
    start = time.perf_counter()
    results = list(limited(vectors, args.seconds))
    table = torch.stack(results).float().cpu()
    ms = (time.perf_counter() - start) * 1000 / len(table)
    print("steps=%d ms_per_step=%.3f" % (len(table), ms))


if __name__ == "__main__":
    main()
