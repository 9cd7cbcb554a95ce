"""Joins the frames of several cameras into one batch, in a buffer on the host.

Slow:  the buffer is new for each request: the kernel has to find and clear every page of it.
Fixed: there is one buffer, and its pages are there.
"""

import torch

from harness import Clock, options
from models import build, convnet


class FreshBatches:
    """A new buffer for every batch."""

    def __init__(self, shape):
        self.shape = shape

    def join(self, frames):
        batch = torch.empty(self.shape)
        torch.cat(frames, out=batch)  # <- slow
        return batch


class ReusedBatches(FreshBatches):
    """The same buffer for every batch: it is on the device before the next one comes."""

    def __init__(self, shape):
        super().__init__(shape)
        self.batch = torch.zeros(shape)

    def join(self, frames):
        torch.cat(frames, out=self.batch)
        return self.batch


class Monitor:
    def __init__(self, model, batches, device):
        self.model = model
        self.batches = batches
        self.device = device

    @torch.inference_mode()
    def look(self, frames):
        batch = self.batches.join(frames)
        every_fourth = batch[:, :, ::4, ::4].to(self.device)
        return self.model(every_fourth).argmax(dim=-1).tolist()


def main():
    args = options(__doc__, steps=80, cpu_steps=40)
    cameras, each, size = (8, 4, 512) if args.on_gpu else (8, 2, 448)
    batches = (ReusedBatches if args.fixed else FreshBatches)((cameras * each, 3, size, size))
    monitor = Monitor(build(lambda: convnet(16 if args.on_gpu else 2, labels=6), args.device),
                      batches, args.device)
    frames = [torch.rand(each, 3, size, size) for _ in range(cameras)]
    clock = Clock(args)
    while not clock.step(monitor.look(frames)):
        frames = frames[1:] + frames[:1]
    clock.finish()


if __name__ == "__main__":
    main()
