"""A recommender: scores of every item for a batch of users, the best hundred with their odds."""

import argparse
import time

import numpy as np
import torch
from torch import nn


class Recommender:
    def __init__(self, device, items, width):
        torch.manual_seed(0)
        self.device = device
        self.tower = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(),
                                   nn.Linear(4 * width, width)).to(device).eval()
        self.head = nn.Linear(width, items).to(device).eval()

    @torch.inference_mode()
    def scores(self, users):
        return self.head(self.tower(users.to(self.device)))

    def best(self, scores, count):
        exps = np.exp(scores - scores.max(axis=1, keepdims=True))
        odds = exps / exps.sum(axis=1, keepdims=True)
        order = np.argsort(-odds, axis=1)[:, :count]  # <- slow
        return order, np.take_along_axis(odds, order, axis=1)

    def recommend(self, users, count=100):
        return self.best(self.scores(users).cpu().numpy(), count)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--items", type=int, default=50000)
    args = parser.parse_args()
    service = Recommender(args.device, args.items, 512)
    users = torch.randn(16, 512)
    service.recommend(users)
    steps, begin = 0, time.perf_counter()
    while steps < 20 or time.perf_counter() - begin < args.seconds:
        service.recommend(users)
        steps += 1
    print("steps=%d ms_per_step=%.3f" % (steps, (time.perf_counter() - begin) * 1000 / steps))


if __name__ == "__main__":
    main()
