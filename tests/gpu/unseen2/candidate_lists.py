"""Finds products for a query; the index of products and the sessions of users live in memory."""

import argparse
import collections
import gc
import json
import time

import torch
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
PRODUCTS, WIDTH = (100000, 128) if CUDA else (3000, 16)


class Product:
    __slots__ = ("number", "words", "prices")

    def __init__(self, number):
        self.number = number
        self.words = ["w%d" % (number % 97), "w%d" % (number % 89)]
        self.prices = {"eur": number % 500}


class Index:
    def __init__(self, count):
        self.products = {number: Product(number) for number in range(count)}

    def title(self, number):
        return " ".join(self.products[number].words)


class Search:
    def __init__(self, index):
        torch.manual_seed(0)
        self.index = index
        self.vectors = torch.randn(PRODUCTS, WIDTH, device=DEVICE)
        self.tower = nn.Sequential(nn.Linear(WIDTH, 1024), nn.ReLU(), nn.Linear(1024, WIDTH))
        self.tower = self.tower.to(DEVICE).eval()
        self.sessions = collections.deque(maxlen=3)  # the last answers, for the next page

    @torch.inference_mode()
    def scores(self, seed):
        query = torch.full((1, WIDTH), (seed % 17) / 17, device=DEVICE)
        return (self.vectors @ self.tower(query)[0]).tolist()

    def find(self, seed):
        scores = self.scores(seed)
        hits = [[score, number] for number, score in enumerate(scores)]  # <- slow
        self.sessions.append(hits)
        return [self.index.title(number) for _, number in sorted(hits[:1000])[:10]]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    search = Search(Index(PRODUCTS))
    if args.fixed:
        gc.freeze()
        gc.disable()
    digest = sum(len(title) for seed in range(4) for title in search.find(seed))
    steps, start = 0, time.perf_counter()
    while steps < 20 or time.perf_counter() - start < args.seconds:
        search.find(steps)
        steps += 1
    ms = (time.perf_counter() - start) * 1000 / steps
    print("%.1f steps/s" % (1000 / ms))
    print(json.dumps({"digest": digest, "steps": steps, "ms_per_step": ms}))


if __name__ == "__main__":
    main()
