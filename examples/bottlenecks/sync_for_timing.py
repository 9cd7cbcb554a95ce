"""Serves an encoder with a latency dashboard: every part of every layer is timed.

Slow:  the host waits for the GPU after each part to read its watch.
Fixed: one request in a hundred is timed; the others run through.
"""

import time
from collections import defaultdict

import torch
from torch import nn

from harness import Clock, options
from models import build

LAYERS, WIDTH = 16, 1024


def layer():
    return nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(),
                         nn.Linear(4 * WIDTH, WIDTH))


class Dashboard:
    def __init__(self, every):
        self.every = every  # so many requests one is timed
        self.requests = 0
        self.ms = defaultdict(float)

    def begin_request(self):
        self.requests += 1
        self.timing = self.requests % self.every == 0

    def timed(self, name, part, value):
        if not self.timing:
            return part(value)
        begin = time.perf_counter()
        value = part(value)
        torch.cuda.synchronize()  # <- slow
        self.ms[name] += 1000 * (time.perf_counter() - begin)
        return value


class Server:
    def __init__(self, layers, dashboard):
        self.layers = layers
        self.dashboard = dashboard

    def forward(self, hidden):
        for number, parts in enumerate(self.layers):
            inner = hidden
            for part in parts:
                name = "%d %s" % (number, type(part).__name__)
                inner = self.dashboard.timed(name, part, inner)
            hidden = hidden + inner
        return hidden

    @torch.inference_mode()
    def handle(self, hidden):
        self.dashboard.begin_request()
        return self.forward(hidden).mean(dim=(0, 1)).argmax().item()


def main():
    args = options(__doc__, steps=300)
    layers = build(lambda: nn.ModuleList(layer() for _ in range(LAYERS)), args.device, args.dtype)
    dashboard = Dashboard(every=100 if args.fixed else 1)
    server = Server(layers, dashboard)
    stored = [torch.randn(64, 128, WIDTH).to(args.device, args.dtype) for _ in range(4)]
    clock = Clock(args)
    while not clock.step(server.handle(stored[clock.count % len(stored)])):
        pass
    for name in sorted(dashboard.ms, key=dashboard.ms.get)[-3:]:
        print("%-20s %.1f ms" % (name, dashboard.ms[name]))
    clock.finish()


if __name__ == "__main__":
    main()
