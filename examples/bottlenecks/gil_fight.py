"""Serves an encoder while a thread of the same process renders statistics for a dashboard.

Slow:  the thread goes through the whole history in Python, again and again; whenever the serving
       thread has let go of the interpreter, it waits for its turn.
Fixed: counts are kept as requests come in, and the page is rendered twice a second.
"""

import threading
import time

import torch

from harness import Clock, options
from models import build, encoder

BUCKETS = [0.25 * 1.5 ** n for n in range(20)]  # ms


class Statistics:
    """Renders all latencies there ever were, all the time."""

    def __init__(self):
        self.latencies = [0.5 + n % 97 for n in range(20000)]
        self.page = ""
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.run, name="statistics", daemon=True)

    def observe(self, ms):
        self.latencies.append(ms)

    def counts(self):
        counts = [0] * (len(BUCKETS) + 1)
        for ms in self.latencies:  # <- slow
            place = 0  # <- slow
            while place < len(BUCKETS) and ms > BUCKETS[place]:  # <- slow
                place += 1  # <- slow
            counts[place] += 1  # <- slow
        return counts

    def run(self):
        while not self.stopped.is_set():
            self.page = "\n".join("%d %d" % pair for pair in enumerate(self.counts()))

    def stop(self):
        self.stopped.set()
        self.thread.join()


class RunningStatistics(Statistics):
    """Keeps the counts up to date instead."""

    def __init__(self):
        super().__init__()
        self.running = super().counts()

    def observe(self, ms):
        place = sum(ms > limit for limit in BUCKETS)
        self.running[place] += 1

    def counts(self):
        return self.running

    def run(self):
        while not self.stopped.wait(0.5):
            self.page = "\n".join("%d %d" % pair for pair in enumerate(self.counts()))


class Server:
    def __init__(self, model, statistics, device):
        self.model = model
        self.statistics = statistics
        self.device = device

    @torch.inference_mode()
    def handle(self, batch):
        begin = time.perf_counter()
        hidden = self.model(batch.to(self.device))
        answer = hidden.mean(dim=1).argmax(dim=-1).tolist()
        self.statistics.observe(1000 * (time.perf_counter() - begin))
        return answer


def main():
    args = options(__doc__, steps=200, cpu_steps=100)
    width, layers = (512, 6) if args.on_gpu else (64, 2)
    statistics = RunningStatistics() if args.fixed else Statistics()
    model = build(lambda: encoder(width, 8, layers), args.device, args.dtype)
    server = Server(model, statistics, args.device)
    stored = [torch.randn(8, 64, width, dtype=args.dtype) for _ in range(4)]
    statistics.thread.start()
    clock = Clock(args)
    while not clock.step(server.handle(stored[clock.count % len(stored)])):
        pass
    clock.finish()
    statistics.stop()


if __name__ == "__main__":
    main()
