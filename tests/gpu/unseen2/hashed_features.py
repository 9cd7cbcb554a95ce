"""Scores advertisements: the words of a page are hashed into a table and the busiest are used."""

import argparse
import json
import time

import numpy as np
import torch
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
BUCKETS = 1 << (24 if CUDA else 18)
WORDS, WIDTH = (40000, 512) if CUDA else (400, 32)


class FreshTable:
    """A table of counts for each page."""

    def count(self, buckets):
        table = np.zeros(BUCKETS, dtype=np.float32)  # <- slow
        np.add.at(table, buckets, 1)  # <- slow
        return table[buckets]


class KeptTable:
    """The same table for all pages; what a page has written is cleared after it."""

    def __init__(self):
        self.table = np.zeros(BUCKETS, dtype=np.float32)

    def count(self, buckets):
        np.add.at(self.table, buckets, 1)
        counts = self.table[buckets]
        self.table[buckets] = 0
        return counts


class Scorer:
    def __init__(self, table):
        torch.manual_seed(0)
        self.table = table
        self.words = nn.EmbeddingBag(8192, WIDTH, mode="sum").to(DEVICE)
        self.net = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.ReLU(), nn.Linear(4 * WIDTH, 64))
        self.net = self.net.to(DEVICE).eval()

    def features(self, page):
        """The rarest words of a page, at most 2048, and how often they come."""
        counts = self.table.count(page)
        rare = np.flatnonzero(counts < 2)[:2048]
        return page[rare] % 8192, counts[rare]

    @torch.inference_mode()
    def score(self, page):
        words, counts = self.features(page)
        words = torch.from_numpy(words).to(DEVICE)[None]
        weights = torch.from_numpy(counts).to(DEVICE)[None]
        return self.net(self.words(words, per_sample_weights=weights)).argmax(1).item()


def pages(count):
    """Pages of hashed words; the hash scatters them over the whole table."""
    random = np.random.default_rng(3)
    return [random.integers(0, BUCKETS, WORDS) for _ in range(count)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    scorer = Scorer(KeptTable() if args.fixed else FreshTable())
    read = pages(8)
    digest = sum(scorer.score(page) for page in read)
    steps, start = 0, time.perf_counter()
    while steps < 20 or time.perf_counter() - start < args.seconds:
        scorer.score(read[steps % 8])
        steps += 1
    ms = (time.perf_counter() - start) * 1000 / steps
    print("%.1f steps/s" % (1000 / ms))
    print(json.dumps({"digest": digest, "steps": steps, "ms_per_step": ms}))


if __name__ == "__main__":
    main()
