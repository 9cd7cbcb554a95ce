"""Segments photographs beside other processes on the GPU, and is polite about its memory.

Slow:  after each request the allocator gives everything back, and asks for it again.
Fixed: the allocator keeps what the next request will need.
"""

import torch
from torch import nn

from harness import Clock, options
from models import build

BATCH, SIZE = 8, 256


class Segmenter(nn.Module):
    """Convolutions whose results are all kept for the last one, as in a U-Net."""

    def __init__(self, width=64, depth=12, classes=8):
        super().__init__()
        self.first = nn.Conv2d(3, width, 3, padding=1)
        self.convolutions = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1)
                                          for _ in range(depth))
        self.last = nn.Conv2d(width, classes, 1)

    def forward(self, pixels):
        kept = [self.first(pixels)]
        for convolution in self.convolutions:
            kept.append(convolution(kept[-1]).relu())
        return self.last(torch.stack(kept).mean(dim=0))


class Service:
    def __init__(self, model, device, give_back):
        self.model = model
        self.device = device
        self.give_back = give_back

    @torch.inference_mode()
    def segment(self, photographs):
        pixels = photographs.to(self.device, non_blocking=True)
        classes = self.model(pixels).argmax(dim=1)
        return classes.float().mean(dim=(1, 2)).round().tolist()

    def handle(self, photographs):
        answer = self.segment(photographs)
        if self.give_back:
            self.clean_up()
        return answer

    def clean_up(self):
        torch.cuda.empty_cache()  # <- slow


def main():
    args = options(__doc__, steps=120)
    service = Service(build(Segmenter, args.device, args.dtype), args.device,
                      give_back=not args.fixed)
    stored = [torch.rand(BATCH, 3, SIZE, SIZE).to(args.dtype).pin_memory() for _ in range(4)]
    clock = Clock(args)
    while not clock.step(service.handle(stored[clock.count % len(stored)])):
        pass
    clock.finish()


if __name__ == "__main__":
    main()
