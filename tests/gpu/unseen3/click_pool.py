"""A recommender scores a log of clicks: worker processes parse its lines, the GPU ranks them."""

import argparse
import collections
import itertools
import json
import math
import multiprocessing
import random
import time

import numpy as np
import torch
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.float16) if CUDA else ("cpu", torch.float32)
LINES, CATEGORIES, COUNTS, SLOTS, WIDTH = 2048, 26, 13, 1 << 18, 64
LOG = []


def write_log():
    """Two batches of lines: a number, counts, then categories in hexadecimal."""
    some = random.Random(0)
    for number in range(2 * LINES):
        counts = [str(some.randrange(1000)) for _ in range(COUNTS)]
        categories = ["%08x" % some.getrandbits(32) for _ in range(CATEGORIES)]
        LOG.append("\t".join([str(number)] + counts + categories))


def parse(batch):
    """(categories, counts) of one batch of lines."""
    begin = batch % 2 * LINES
    categories, counts = [], []
    for line in LOG[begin:begin + LINES]:
        words = line.split("\t")
        counts.append([math.log1p(int(word)) for word in words[1:1 + COUNTS]])
        categories.append([int(word, 16) % SLOTS for word in words[1 + COUNTS:]])
    return np.array(categories), np.array(counts, dtype=np.float32)


class Clicks:
    """Batches in order, parsed ahead of time by a pool of processes."""

    def __init__(self, workers):
        self.workers = workers
        self.pool = multiprocessing.get_context("fork").Pool(workers)

    def __iter__(self):
        coming, numbers = collections.deque(), itertools.count()
        while True:
            while len(coming) < 2 * self.workers:
                coming.append(self.pool.apply_async(parse, (next(numbers),)))
            yield coming.popleft().get()  # <- slow

    def close(self):
        self.pool.terminate()
        self.pool.join()


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.bags = nn.EmbeddingBag(SLOTS, WIDTH, mode="sum")
        self.counts = nn.Sequential(nn.Linear(COUNTS, 256), nn.ReLU(), nn.Linear(256, WIDTH))
        self.top = nn.Sequential(nn.Linear(2 * WIDTH, 1024), nn.ReLU(), nn.Linear(1024, 1024),
                                 nn.ReLU(), nn.Linear(1024, 1))

    def forward(self, categories, counts):
        both = torch.cat([self.bags(categories), self.counts(counts)], 1)
        return self.top(both).sigmoid().squeeze(1)


@torch.inference_mode()
def rank(ranker, batches, enough):
    """The numbers of batches, and of clicks that are likely."""
    steps, likely = 0, 0
    for categories, counts in batches:
        scores = ranker(torch.from_numpy(categories).to(DEVICE),
                        torch.from_numpy(counts).to(DEVICE, DTYPE))
        likely += int((scores > 0.5).sum())
        steps += 1
        if enough(steps):
            return steps, likely


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    write_log()
    clicks = Clicks(workers=8 if args.fixed else 1)
    torch.manual_seed(0)
    ranker = Ranker().to(DEVICE, DTYPE).eval()
    batches = iter(clicks)
    _, digest = rank(ranker, batches, lambda steps: steps == 4)
    start = time.perf_counter()
    steps, _ = rank(ranker, batches, lambda steps: steps >= 6 and
                    time.perf_counter() - start >= args.seconds)
    took = time.perf_counter() - start
    clicks.close()
    print("%.0f clicks/s" % (steps * LINES / took))
    print(json.dumps({"digest": digest, "steps": steps, "ms_per_step": took * 1000 / steps}))


if __name__ == "__main__":
    main()
