"""Recommends films: two towers, and a scorer that mixes taste, freshness and price.

    movie_nights.py [--fixed]
"""

import argparse
import time
from dataclasses import dataclass

import torch


@dataclass
class Films:
    vectors: torch.Tensor
    bias: torch.Tensor
    age: torch.Tensor

    @classmethod
    def random(cls, count, width):
        return cls(torch.randn(count, width), torch.randn(count), torch.rand(count) * 30)


class Recommender:
    def __init__(self, films, width=64):
        self.films = films
        self.tower = torch.nn.Sequential(
            torch.nn.Linear(200, 512), torch.nn.ReLU(), torch.nn.Linear(512, width)
        ).eval()

    def candidates(self, user, count):
        return (self.films.vectors @ user).topk(count).indices

    def score(self, user, candidates):
        scores = []
        for film in candidates:
            taste = torch.dot(user, self.films.vectors[film])
            fresh = torch.exp(-self.films.age[film] / 10)
            scores.append(torch.sigmoid(taste + self.films.bias[film]) * (0.7 + 0.3 * fresh))
        return torch.stack(scores)

    def score_fast(self, user, candidates):
        taste = self.films.vectors[candidates] @ user
        fresh = torch.exp(-self.films.age[candidates] / 10)
        return torch.sigmoid(taste + self.films.bias[candidates]) * (0.7 + 0.3 * fresh)

    def recommend(self, history, fixed):
        with torch.inference_mode():
            user = self.tower(history)
            candidates = self.candidates(user, 300)
            scores = self.score_fast(user, candidates) if fixed else self.score(user, candidates)
            return candidates[scores.topk(10).indices]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--users", type=int, default=450)
    args = parser.parse_args()
    torch.manual_seed(12)
    torch.set_num_threads(1)
    recommender = Recommender(Films.random(40_000, 64))
    histories = torch.rand(args.users, 200)
    chosen = 0
    began = time.perf_counter()
    for history in histories:
        chosen += recommender.recommend(history, args.fixed).sum().item()
    took = time.perf_counter() - began
    print("chosen", chosen)
    count = args.users
    print(f"{count} users of {1e3 * took / count:.2f} ms: {count / took:.2f} steps/s")


if __name__ == "__main__":
    main()
