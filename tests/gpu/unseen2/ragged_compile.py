"""Ranks the candidates of each query; how many there are differs from query to query."""

import argparse
import json
import random
import time

import torch
import torch.nn.functional as F
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
WIDTH, FIELDS = (256, 4) if CUDA else (32, 2)


def similarity(query, candidates, bias):
    """How near each candidate is to the query; old ones count less."""
    query = F.normalize(query, dim=-1)
    candidates = F.normalize(candidates, dim=-1)
    near = (candidates * query[:, None]).sum(-1)
    return torch.softmax(near * 8 - F.softplus(bias), dim=-1)


class Ranker(nn.Module):
    def __init__(self, fixed):
        super().__init__()
        self.tower = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(),
                                   nn.Linear(4 * WIDTH, FIELDS * WIDTH))
        self.similarity = torch.compile(similarity, dynamic=True if fixed else False)

    def forward(self, query, candidates, bias):
        fields = self.tower(query).view(FIELDS, WIDTH)
        stacked = candidates.expand(FIELDS, *candidates.shape)
        scores = self.similarity(fields, stacked, bias)  # <- slow
        return scores.mean(0).topk(8).indices


class Traffic:
    """Queries come in sessions of five; each session has a shop, and so a number of candidates."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.catalogue = torch.randn(4096, WIDTH, device=DEVICE)
        self.age = torch.rand(4096, device=DEVICE)

    def __iter__(self):
        while True:
            count = self.random.randrange(64, 4096)
            for _ in range(5):
                yield self.catalogue[count - 64], self.catalogue[:count], self.age[:count]


@torch.inference_mode()
def serve(ranker, traffic, seconds, least):
    best, start = [], time.perf_counter()
    for query in traffic:
        best.append(ranker(*query).tolist())
        if len(best) >= least and time.perf_counter() - start >= seconds:
            return best, time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    torch.manual_seed(0)
    ranker = Ranker(args.fixed).to(DEVICE).eval()
    serve(ranker, Traffic(1), 0, 5)  # warm
    best, spent = serve(ranker, Traffic(2), args.seconds, 30)
    ms = spent * 1000 / len(best)
    print("%.1f steps/s" % (1000 / ms))
    print(json.dumps({"digest": sum(map(sum, best[:30])), "steps": len(best), "ms_per_step": ms}))


if __name__ == "__main__":
    main()
