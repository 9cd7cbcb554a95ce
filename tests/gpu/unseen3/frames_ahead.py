"""Restores old film: a thread crops frames into pinned memory, a stream copies them, another one
works on them, and what comes out is copied back meanwhile."""

import argparse
import json
import queue
import threading
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.float16) if CUDA else ("cpu", torch.float32)
FRAMES, SIZE, WIDTH, LAYERS = (8, 512, 64, 24) if CUDA else (2, 32, 8, 2)
SLOTS = 4


class Restorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Conv2d(3, WIDTH, 3, padding=1)
        self.body = nn.ModuleList(nn.Conv2d(WIDTH, WIDTH, 3, padding=1) for _ in range(LAYERS))
        self.leave = nn.Conv2d(WIDTH, 3, 3, padding=1)

    def forward(self, frames):
        x = self.enter(frames.to(DTYPE).div_(255).contiguous(memory_format=torch.channels_last))
        for layer in self.body:
            x = x + F.relu(layer(x))
        return self.leave(x).sigmoid().mul_(255).to(torch.uint8)


class Slot:
    """Memory of one batch, on both sides; made once."""

    def __init__(self):
        shape = (FRAMES, 3, SIZE, SIZE)
        self.given = torch.empty(shape, dtype=torch.uint8, pin_memory=CUDA)
        self.restored = torch.empty(shape, dtype=torch.uint8, pin_memory=CUDA)
        self.on_device = torch.empty(shape, dtype=torch.uint8, device=DEVICE)
        self.copied, self.worked, self.done = (torch.cuda.Event() for _ in range(3)) if CUDA else \
            (None, None, None)


class Film(threading.Thread):
    """Crops the next frames into free slots."""

    def __init__(self):
        super().__init__(daemon=True)
        self.film = np.random.default_rng(0).integers(
            0, 256, (4 * FRAMES, 3, SIZE + 32, SIZE + 32), dtype=np.uint8)
        self.free, self.full = queue.Queue(), queue.Queue()
        for _ in range(SLOTS):
            self.free.put(Slot())

    def run(self):
        at = 0
        while True:
            slot = self.free.get()
            frames = self.film[at:at + FRAMES, :, 16:16 + SIZE, 16:16 + SIZE]
            np.copyto(slot.given.numpy(), frames)
            at = (at + FRAMES) % (3 * FRAMES)
            self.full.put(slot)


class Job:
    def __init__(self):
        torch.manual_seed(0)
        self.model = Restorer().to(DEVICE, DTYPE, memory_format=torch.channels_last).eval()
        self.film, self.under_way = Film(), []
        self.streams = [torch.cuda.Stream() for _ in range(3)] if CUDA else []
        self.film.start()

    def begin(self, slot):
        if not CUDA:
            slot.restored.copy_(self.model(slot.given))
            return
        copying, working, returning = self.streams
        with torch.cuda.stream(copying):
            slot.on_device.copy_(slot.given, non_blocking=True)
            slot.copied.record()
        with torch.cuda.stream(working):
            slot.copied.wait()
            restored = self.model(slot.on_device)
            slot.worked.record()
        with torch.cuda.stream(returning):
            slot.worked.wait()
            slot.restored.copy_(restored, non_blocking=True)
            restored.record_stream(returning)
            slot.done.record()

    @torch.inference_mode()
    def step(self):
        """Begins a batch; the one before last is then done."""
        slot = self.film.full.get()
        self.begin(slot)
        self.under_way.append(slot)
        if len(self.under_way) < 3:
            return None
        oldest = self.under_way.pop(0)
        if oldest.done:
            oldest.done.synchronize()
        mean = int(oldest.restored[0, 0, 0, :8].sum())
        self.film.free.put(oldest)
        return mean


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    job = Job()
    digest = [job.step() for _ in range(5)][-1]
    steps, start = 0, time.perf_counter()
    while steps < 6 or time.perf_counter() - start < args.seconds:
        job.step()
        steps += 1
    took = time.perf_counter() - start
    print("%.1f frames/s" % (steps * FRAMES / took))
    print(json.dumps({"digest": digest, "steps": steps, "ms_per_step": took * 1000 / steps}))


if __name__ == "__main__":
    main()
