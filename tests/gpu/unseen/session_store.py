"""A dialogue service that keeps every session in memory and tidies up after each request."""

import argparse
import gc
import time

import torch
from torch import nn


class Sessions:
    def __init__(self, count):
        self.by_user = {user: {"turns": [[user, turn] for turn in range(3)], "tags": {"a": [user]}}
                        for user in range(count)}

    def add(self, user, answer):
        turns = self.by_user[user % len(self.by_user)]["turns"]
        turns.append([user, answer])
        del turns[:-3]


class Dialogue:
    def __init__(self, device, sessions):
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True)
        self.model = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
        self.model = self.model.to(device).eval()
        self.device, self.sessions = device, sessions

    @torch.inference_mode()
    def answer(self, user):
        words = torch.full((4, 64, 256), (user % 9) / 9, device=self.device)
        best = self.model(words)[:, -1].argmax(-1).tolist()
        self.sessions.add(user, best)
        gc.collect()  # <- slow
        return best


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--users", type=int, default=60000)
    args = parser.parse_args()
    service = Dialogue(args.device, Sessions(args.users))
    service.answer(0)
    steps, start = 0, time.perf_counter()
    while steps < 20 or time.perf_counter() - start < args.seconds:
        service.answer(steps)
        steps += 1
    print("steps=%d ms_per_step=%.3f" % (steps, (time.perf_counter() - start) * 1000 / steps))


if __name__ == "__main__":
    main()
