"""Classifies satellite tiles that arrive compressed; threads unpack them into a queue.

Slow:  one thread unpacks, and the model waits for it at the queue.
Fixed: as many threads as it takes; zlib lets go of the interpreter while it works.
"""

import os
import queue
import threading
import zlib

import numpy as np
import torch

from harness import Clock, options
from models import build, convnet


class Archive:
    """Compressed batches of tiles, the same in every run."""

    def __init__(self, batch, size, count=8):
        rng = np.random.default_rng(7)
        self.shape = (batch, 3, size, size)
        coarse = rng.integers(0, 64, (count,) + self.shape, dtype=np.uint8)
        self.packed = [zlib.compress(tiles.tobytes(), 6) for tiles in coarse]

    def unpack(self, number):
        pixels = zlib.decompress(self.packed[number % len(self.packed)])  # <- slow
        return torch.frombuffer(bytearray(pixels), dtype=torch.uint8).view(self.shape)


class Unpackers:
    """Threads that fill the queue; batches may come in any order."""

    def __init__(self, archive, threads, depth=8):
        self.archive = archive
        self.ready = queue.Queue(maxsize=depth)
        self.next, self.ended = 0, False
        self.lock = threading.Lock()
        for number in range(threads):
            threading.Thread(target=self.run, name="unpack-%d" % number, daemon=True).start()

    def take_number(self):
        with self.lock:
            self.next += 1
            return self.next - 1

    def run(self):
        while not self.ended:
            number = self.take_number()
            self.ready.put((number, self.archive.unpack(number)))


class Mapper:
    def __init__(self, model, device):
        self.model = model
        self.device = device

    @torch.inference_mode()
    def classify(self, tiles):
        pixels = tiles.to(self.device).float().div_(63)
        return self.model(pixels).argmax(dim=-1).tolist()


def main():
    args = options(__doc__, steps=120, cpu_steps=30)
    batch, size = (16, 256) if args.on_gpu else (8, 256)
    threads = max(2, min(12, (os.cpu_count() or 2) - 2)) if args.fixed else 1
    unpackers = Unpackers(Archive(batch, size), threads)
    mapper = Mapper(build(lambda: convnet(64 if args.on_gpu else 2, labels=7), args.device),
                    args.device)
    clock = Clock(args)
    while True:
        _, tiles = unpackers.ready.get()  # <- slow
        mapper.classify(tiles)
        if clock.step(None):
            break
    clock.finish()
    end(unpackers)


def end(unpackers):
    """A thread that is in PyTorch when the interpreter ends would abort the process."""
    unpackers.ended = True
    while threading.active_count() > 1:
        try:
            unpackers.ready.get(timeout=0.01)
        except queue.Empty:
            pass


if __name__ == "__main__":
    main()
