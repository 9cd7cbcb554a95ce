"""Images flow from pinned buffers over a second stream while the last batch is computed."""

import argparse
import contextlib
import time

import torch
from torch import nn


class Uploader:
    """Two pinned batches, two on the device; the next one travels while this one is used."""

    def __init__(self, device, batch):
        cuda = device == "cuda"
        images = torch.rand(2, batch, 3, 224, 224).to(torch.bfloat16)
        self.pinned = [image.pin_memory() if cuda else image for image in images]
        self.landed = [torch.empty_like(image, device=device) for image in images]
        self.stream = torch.cuda.Stream() if cuda else None
        self.arrived = [torch.cuda.Event() for _ in range(2)] if cuda else None
        self.used = [torch.cuda.Event() for _ in range(2)] if cuda else None

    def send(self, nth):
        with torch.cuda.stream(self.stream) if self.stream else contextlib.nullcontext():
            if self.stream:
                self.stream.wait_event(self.used[nth])
            self.landed[nth].copy_(self.pinned[nth], non_blocking=True)
            if self.stream:
                self.arrived[nth].record(self.stream)

    def take(self, nth):
        if self.stream:
            torch.cuda.current_stream().wait_event(self.arrived[nth])
        return self.landed[nth]

    def done(self, nth):
        if self.stream:
            self.used[nth].record()


def build(width):
    torch.manual_seed(0)
    stem = [nn.Conv2d(3, width, 16, stride=16), nn.Flatten(2)]
    layer = nn.TransformerEncoderLayer(width, width // 64, 4 * width, batch_first=True)
    return nn.Sequential(*stem), nn.TransformerEncoder(layer, 8, enable_nested_tensor=False)


@torch.inference_mode()
def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--width", type=int, default=768)
    args = parser.parse_args()
    stem, body = (part.to(args.device, torch.bfloat16).eval() for part in build(args.width))
    uploader = Uploader(args.device, args.batch)

    def step(nth):
        vectors = body(stem(uploader.take(nth)).transpose(1, 2)).mean(1).sum()
        uploader.done(nth)
        return vectors

    uploader.send(0)
    step(0).item()
    uploader.send(0)
    steps, start, pending = 0, time.perf_counter(), None
    while steps < 20 or time.perf_counter() - start < args.seconds:
        uploader.send((steps + 1) % 2)
        sums = step(steps % 2)
        if pending is not None:
            pending.item()
        pending = sums
        steps += 1
    pending.item()
    print("steps=%d ms_per_step=%.3f" % (steps, (time.perf_counter() - start) * 1000 / steps))


if __name__ == "__main__":
    main()
