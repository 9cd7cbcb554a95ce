"""Serves an encoder with a latency dashboard: every layer is timed.

Slow:  the host waits for the GPU after each layer to read its watch.
Fixed: events are recorded on the GPU and read when the request is done.
"""

import time
from collections import defaultdict

import torch
from torch import nn

from harness import Clock, options
from models import build

LAYERS, WIDTH = 24, 1024


def layer():
    return nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(),
                         nn.Linear(4 * WIDTH, WIDTH))


class HostTimer:
    """Times a call by the host's clock."""

    def __init__(self):
        self.ms = defaultdict(float)

    def timed(self, name, call, value):
        begin = time.perf_counter()
        value = call(value)
        torch.cuda.synchronize()  # <- slow
        self.ms[name] += 1000 * (time.perf_counter() - begin)
        return value

    def settle(self):
        pass


class EventTimer:
    """Times a call by the GPU's clock; nothing is waited for until settle()."""

    def __init__(self):
        self.ms = defaultdict(float)
        self.pending = []

    def timed(self, name, call, value):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        value = call(value)
        end.record()
        self.pending.append((name, begin, end))
        return value

    def settle(self):
        torch.cuda.synchronize()
        for name, begin, end in self.pending:
            self.ms[name] += begin.elapsed_time(end)
        self.pending.clear()


class Server:
    def __init__(self, layers, timer):
        self.layers = layers
        self.timer = timer

    @torch.inference_mode()
    def handle(self, hidden):
        for number, each in enumerate(self.layers):
            hidden = hidden + self.timer.timed("layer %d" % number, each, hidden)
        answer = hidden.mean(dim=(0, 1)).argmax().item()
        self.timer.settle()
        return answer


def main():
    args = options(__doc__, steps=600)
    layers = build(lambda: nn.ModuleList(layer() for _ in range(LAYERS)), args.device,
                   torch.bfloat16)
    server = Server(layers, EventTimer() if args.fixed else HostTimer())
    stored = [torch.randn(8, 128, WIDTH).to(args.device, torch.bfloat16) for _ in range(4)]
    clock = Clock(args)
    while not clock.step(server.handle(stored[clock.count % len(stored)])):
        pass
    slowest = max(server.timer.ms, key=server.timer.ms.get)
    print("slowest: %s, %.1f ms in all" % (slowest, server.timer.ms[slowest]))
    clock.finish()


if __name__ == "__main__":
    main()
