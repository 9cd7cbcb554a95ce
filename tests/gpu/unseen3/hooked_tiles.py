"""A batch job: a vision transformer over the tiles of large images, which lie in pinned memory.
Inputs are moved to the model's device by a hook, so that callers need not care."""

import argparse
import collections
import itertools
import json
import time

import torch
import torch.nn.functional as F
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.float16) if CUDA else ("cpu", torch.float32)
TILES, SIZE, PATCH, WIDTH, LAYERS, HEADS = (64, 512, 32, 768, 6, 12) if CUDA else \
    (2, 64, 32, 64, 2, 4)
AHEAD = 2


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        rows, length, _ = x.shape
        qkv = self.qkv(self.before(x)).view(rows, length, 3, HEADS, WIDTH // HEADS)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(seen.transpose(1, 2).reshape(rows, length, WIDTH))
        return x + self.down(F.gelu(self.up(self.between(x))))


class TileNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, PATCH, PATCH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.head = nn.Linear(WIDTH, 16)

    def forward(self, tiles):
        return self.head(self.blocks(self.patches(tiles).flatten(2).mT).mean(1))


def to_device(module, args):
    tiles, = args
    return tiles.to(DEVICE, non_blocking=True)  # <- slow


def ahead_of_time(batches):
    """The batches on the device; the next one is copied while its predecessor is worked on."""
    stream = torch.cuda.Stream()

    def begun(batch):
        with torch.cuda.stream(stream):
            return batch.to(DEVICE, non_blocking=True), stream.record_event()

    coming = begun(next(batches))
    for batch in batches:
        (ready, copied), coming = coming, begun(batch)
        torch.cuda.current_stream().wait_event(copied)
        ready.record_stream(torch.cuda.current_stream())
        yield ready


class Results:
    """Answers come back a few batches later, so that nobody waits for the one just asked for."""

    def __init__(self):
        self.open, self.total, self.count = collections.deque(), 0.0, 0

    def add(self, answer):
        if not CUDA:
            self.open.append((answer, None))
        else:
            host = torch.empty(answer.shape, dtype=answer.dtype, pin_memory=True)
            host.copy_(answer, non_blocking=True)
            self.open.append((host, torch.cuda.current_stream().record_event()))
        if len(self.open) > AHEAD:
            self.take()

    def take(self):
        host, done = self.open.popleft()
        if done:
            done.synchronize()
        self.total += float(host[0, 0])
        self.count += 1


@torch.inference_mode()
def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    torch.manual_seed(0)
    slots = [torch.empty(TILES, 3, SIZE, SIZE, dtype=DTYPE, pin_memory=CUDA) for _ in range(3)]
    for slot in slots:
        slot.copy_(torch.rand(3, SIZE, SIZE))
    with torch.device(DEVICE):
        net, results = TileNet().to(DTYPE).eval(), Results()
    batches = itertools.cycle(slots)
    if args.fixed and CUDA:
        batches = ahead_of_time(batches)
    else:
        net.register_forward_pre_hook(to_device)
    for _ in range(4):
        results.add(net(next(batches)))
    while results.open:
        results.take()
    digest, steps, start = round(results.total, 2), 0, time.perf_counter()
    while steps < 6 or time.perf_counter() - start < args.seconds:
        results.add(net(next(batches)))
        steps += 1
    while results.open:
        results.take()
    took = time.perf_counter() - start
    print("%.0f tiles/s" % (steps * TILES / took))
    print(json.dumps({"digest": digest, "steps": steps, "ms_per_step": took * 1000 / steps}))


if __name__ == "__main__":
    main()
