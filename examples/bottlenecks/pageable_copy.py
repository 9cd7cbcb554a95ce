"""Watches video: every request brings clips that lie in ordinary, pageable memory.

Slow:  the driver copies pageable memory piece by piece through a buffer of its own.
Fixed: the receive buffers are pinned once; the GPU fetches from them at the link's speed.
"""

import torch

from harness import Clock, options
from models import build, convnet

BATCH, SIZE = 32, 448


class ReceiveBuffers:
    """What the network writes into, in turn."""

    def __init__(self, count, pinned):
        self.slots = [torch.rand(BATCH, 3, SIZE, SIZE) for _ in range(count)]
        if pinned:
            self.slots = [slot.pin_memory() for slot in self.slots]

    def received(self):
        while True:
            yield from self.slots


class Watcher:
    def __init__(self, model, device):
        self.model = model
        self.device = device

    def upload(self, clip):
        return clip.to(self.device, non_blocking=True)  # <- slow

    @torch.inference_mode()
    def watch(self, clip):
        scores = self.model(self.upload(clip))
        return scores.argmax(dim=-1).tolist()


def main():
    args = options(__doc__, steps=120)
    buffers = ReceiveBuffers(4, pinned=args.fixed)
    watcher = Watcher(build(lambda: convnet(32, labels=5), args.device), args.device)
    clock = Clock(args)
    for clip in buffers.received():
        if clock.step(watcher.watch(clip)):
            break
    clock.finish()


if __name__ == "__main__":
    main()
