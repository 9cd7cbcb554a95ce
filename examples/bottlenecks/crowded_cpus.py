"""Serves an encoder on the CPU beside processes of the same program that count words.

Slow:  four counting processes for each CPU; whenever the server wants to run, others have the CPUs.
Fixed: one counting process for each CPU but one, with lower priority.
"""

import multiprocessing
import os
import threading

import torch

from harness import Clock, options
from models import build, encoder

CPUS = len(os.sched_getaffinity(0))


def count_words(stop):
    """What a counting process does, until the server is gone."""
    threading.Thread(target=lambda: (stop.wait(), os._exit(0)), daemon=True).start()
    text = " ".join("word%d" % (n % 1000) for n in range(20000))
    counts = {}
    while True:
        for word in text.split():
            counts[word] = counts.get(word, 0) + 1


def count_politely(stop):
    os.nice(19)
    count_words(stop)


class Server:
    def __init__(self, model):
        self.model = model

    @torch.inference_mode()
    def handle(self, batch):
        hidden = self.model(batch)  # <- slow
        return hidden.mean(dim=1).argmax(dim=-1).tolist()  # <- slow


def main():
    args = options(__doc__, steps=200, cpu_steps=200)
    context = multiprocessing.get_context("fork")
    stop = context.Event()
    target, count = (count_politely, max(CPUS - 1, 1)) if args.fixed else (count_words, 4 * CPUS)
    for _ in range(count):
        context.Process(target=target, args=(stop,), daemon=True).start()
    server = Server(build(lambda: encoder(128, 8, 2), "cpu", torch.float32))
    stored = [torch.randn(8, 64, 128) for _ in range(4)]
    clock = Clock(args)
    while not clock.step(server.handle(stored[clock.count % len(stored)])):
        pass
    clock.finish()
    stop.set()


if __name__ == "__main__":
    main()
