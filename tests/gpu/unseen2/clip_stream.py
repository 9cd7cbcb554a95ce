"""Labels video clips: threads prepare them in pinned buffers, a second stream carries them over."""

import argparse
import collections
import contextlib
import json
import queue
import threading
import time

import numpy as np
import torch
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.bfloat16) if CUDA else ("cpu", torch.float32)
CLIPS, FRAMES, SIDE = (8, 16, 128) if CUDA else (2, 2, 32)
BUFFERS, PRODUCERS = 6, 3


class Producer(threading.Thread):
    """Takes free buffers and fills them; numpy leaves the interpreter to the others meanwhile."""

    def __init__(self, seed, free, full):
        super().__init__(daemon=True)
        shape = (CLIPS, FRAMES, 3, SIDE, SIDE)
        self.raw = np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)
        self.free, self.full = free, full

    def run(self):
        while (buffer := self.free.get()) is not None:
            view = buffer.numpy()
            np.right_shift(self.raw, 1, out=view)  # the camera's gain
            np.add(view, 64, out=view)
            self.full.put(buffer)


class Upload:
    """The next clips travel while the model works on these."""

    def __init__(self, free, full):
        self.free, self.full = free, full
        self.stream = torch.cuda.Stream() if CUDA else None
        self.ahead = None

    def start(self):
        buffer = self.full.get()
        with torch.cuda.stream(self.stream) if CUDA else contextlib.nullcontext():
            clips = buffer.to(DEVICE, non_blocking=True)
            event = torch.cuda.Event() if CUDA else None
            if event:
                event.record(self.stream)
        self.ahead = clips, event, buffer

    def take(self):
        clips, event, buffer = self.ahead
        if event:
            event.synchronize()  # it has travelled during the last step
            clips.record_stream(torch.cuda.current_stream())
        self.free.put(buffer)
        self.start()
        return clips


class Labeller(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv3d(3, 64, (2, 8, 8), stride=(2, 8, 8))
        layer = nn.TransformerEncoderLayer(64 * 8, 8, 2048, batch_first=True)
        self.widen = nn.Linear(64, 512)
        self.body = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
        self.head = nn.Linear(512, 40)

    def forward(self, clips):
        x = clips.transpose(1, 2).to(DTYPE) / 128 - 1
        x = self.widen(self.stem(x).flatten(2).transpose(1, 2))
        return self.head(self.body(x).mean(1)).argmax(1)


def fetch(found):
    """A copy on its way to the host, and the event that it has landed."""
    found = found.to("cpu", non_blocking=True)
    landed = torch.cuda.Event() if CUDA else None
    if landed:
        landed.record()
    return landed, found


@torch.inference_mode()
def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    torch.manual_seed(0)
    model = Labeller().to(DEVICE, DTYPE).eval()
    free, full = queue.Queue(), queue.Queue()
    for _ in range(BUFFERS):
        free.put(torch.empty(CLIPS, FRAMES, 3, SIDE, SIDE, dtype=torch.uint8, pin_memory=CUDA))
    producers = [Producer(seed, free, full) for seed in range(PRODUCERS)]
    for producer in producers:
        producer.start()
    upload, labels, counts = Upload(free, full), [], collections.Counter()
    upload.start()
    steps, start = -3, None
    while start is None or steps < 20 or time.perf_counter() - start < args.seconds:
        if steps == 0:
            start = time.perf_counter()
        labels.append(fetch(model(upload.take())))
        if len(labels) > 2:  # two steps late
            landed, found = labels.pop(0)
            if landed:
                landed.synchronize()
            counts.update(found.tolist())
        steps += 1
    ms = (time.perf_counter() - start) * 1000 / steps
    for _ in producers:
        free.put(None)
    print("%.1f steps/s" % (1000 / ms))
    print(json.dumps({"digest": 0, "steps": steps, "ms_per_step": ms}))


if __name__ == "__main__":
    main()
