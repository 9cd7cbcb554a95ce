"""Cleans film in half precision, many frames at a time; copies go beside the kernels."""

import torch
from timing import Clock, arguments
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.float16) if CUDA else ("cpu", torch.float32)
FRAMES, SIZE, WIDTH, DEPTH = (64, 256, 256, 8) if CUDA else (2, 64, 8, 2)


class Cleaner(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Conv2d(3, WIDTH, 2, 2)
        self.layers = nn.ModuleList(nn.Conv2d(WIDTH, WIDTH, 3, padding=1) for _ in range(DEPTH))
        self.leave = nn.ConvTranspose2d(WIDTH, 3, 2, 2)

    def forward(self, frames):
        x = self.enter(frames.to(DTYPE).div_(255).to(memory_format=torch.channels_last))
        for layer in self.layers:
            x = torch.relu_(layer(x))
        return self.leave(x).clamp_(0, 1).mul_(255).to(torch.uint8)


class Film:
    """Two buffers each way, and a stream for the copies."""

    def __init__(self):
        self.stream = torch.cuda.Stream() if CUDA else None
        shape = (FRAMES, 3, SIZE, SIZE)
        frames = torch.randint(0, 256, shape, generator=torch.Generator().manual_seed(1),
                               dtype=torch.uint8)
        self.frames = frames.pin_memory() if CUDA else frames
        self.out = [torch.empty(shape, dtype=torch.uint8, pin_memory=CUDA) for _ in range(2)]
        self.given = [torch.empty(shape, dtype=torch.uint8, device=DEVICE) for _ in range(2)]
        self.read = [None, None]
        self.there = [None, None]

    def bring(self, slot):
        if not CUDA:
            self.given[slot].copy_(self.frames)
            return
        with torch.cuda.stream(self.stream):
            if self.read[slot]:
                self.stream.wait_event(self.read[slot])
            self.given[slot].copy_(self.frames, non_blocking=True)
            self.there[slot] = self.stream.record_event()

    def keep(self, slot, cleaned):
        if not CUDA:
            self.out[slot].copy_(cleaned)
            return
        self.read[slot] = torch.cuda.current_stream().record_event()
        with torch.cuda.stream(self.stream):
            self.stream.wait_event(self.read[slot])
            cleaned.record_stream(self.stream)
            self.out[slot].copy_(cleaned, non_blocking=True)


@torch.inference_mode()
def main():
    args = arguments(__doc__)
    torch.manual_seed(0)
    cleaner = Cleaner().to(DEVICE, DTYPE, memory_format=torch.channels_last).eval()
    film, finished = Film(), []

    def step(number):
        slot = number % 2
        film.bring(1 - slot)
        if CUDA:
            torch.cuda.current_stream().wait_event(film.there[slot])
        film.keep(slot, cleaner(film.given[slot]))
        if CUDA:
            finished.append(torch.cuda.current_stream().record_event())
            if len(finished) > 1:
                finished.pop(0).synchronize()

    film.bring(0)
    for number in range(4):
        step(number)
    clock = Clock(args.seconds)
    while clock.running():
        step(clock.count)
        clock.count += 1
    if CUDA:
        torch.cuda.synchronize()
    clock.finish(0)


if __name__ == "__main__":
    main()
