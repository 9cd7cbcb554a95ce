"""A ranking model that serves while other threads of the same process total up its metrics."""

import argparse
import collections
import threading
import time

import torch
from torch import nn

from inferscope import scope

stop = threading.Event()


def total_up(window):
    """Percentiles of the last latencies, again and again."""
    buckets = collections.Counter()
    while not stop.is_set():
        for nth in range(len(window)):
            buckets[int(window[nth] * 1000) % 97] += nth & 1  # <- slow
        time.sleep(0.002)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


@torch.inference_mode()
def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    torch.manual_seed(0)
    model = nn.Sequential(*(Block(1024) for _ in range(2)), nn.Linear(1024, 1))
    model = model.to(args.device).eval()
    users = torch.randn(256, 1024, device=args.device)
    model(users).cpu()
    window = [nth * 0.00137 for nth in range(200000)]
    threads = [threading.Thread(target=total_up, args=(window,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        steps, start = 0, time.perf_counter()
        while steps < 20 or time.perf_counter() - start < args.seconds:
            with scope("rank"):
                model(users).cpu()
            steps += 1
        ms = (time.perf_counter() - start) * 1000 / steps
    finally:
        stop.set()
    for thread in threads:
        thread.join()
    print("steps=%d ms_per_step=%.3f" % (steps, ms))


if __name__ == "__main__":
    main()
