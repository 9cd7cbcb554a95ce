"""Looks at large scans; copies are pinned and fast, but nothing else runs during them.

Slow:  upload, compute, answer, one after the other.
Fixed: the next scan is uploaded on a stream of its own while this one is computed.
"""

import itertools

import torch

from harness import Clock, options
from models import build, convnet

BATCH, SIZE = 32, 768


def scans():
    """Scans as they come in, in pinned memory."""
    stored = [torch.rand(BATCH, 3, SIZE, SIZE).half().pin_memory() for _ in range(4)]
    return itertools.cycle(stored)


class OneByOne:
    """The scans on the device, each copied when it is its turn."""

    def __init__(self, source, device):
        self.source = source
        self.device = device

    def __iter__(self):
        for scan in self.source:
            yield scan.to(self.device, non_blocking=True)  # <- slow


class Ahead:
    """The scans on the device, each copied while the one before it is computed."""

    def __init__(self, source, device):
        self.source = source
        self.device = device
        self.stream = torch.cuda.Stream()

    def fetch(self):
        with torch.cuda.stream(self.stream):
            return next(self.source).to(self.device, non_blocking=True)

    def __iter__(self):
        following = self.fetch()
        while True:
            torch.cuda.current_stream().wait_stream(self.stream)
            scan = following
            scan.record_stream(torch.cuda.current_stream())
            following = self.fetch()
            yield scan


class Reader:
    def __init__(self, model):
        self.model = model

    @torch.inference_mode()
    def read(self, scan):
        return self.model(scan).argmax(dim=-1).tolist()


def main():
    args = options(__doc__, steps=150)
    reader = Reader(build(lambda: convnet(64, labels=4), args.device, torch.float16))
    uploads = (Ahead if args.fixed else OneByOne)(scans(), args.device)
    clock = Clock(args)
    for scan in uploads:
        if clock.step(reader.read(scan)):
            break
    clock.finish()


if __name__ == "__main__":
    main()
