"""Detects objects: the GPU proposes boxes, a pool picks those that do not overlap while the next
images are looked at."""

import argparse
import collections
import json
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import torch
import torch.nn.functional as F
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.float16) if CUDA else ("cpu", torch.float32)
IMAGES, SIZE, WIDTH = (8, 512, 128) if CUDA else (2, 128, 8)
CANDIDATES, WORKERS = 64, 8


def overlap(a, b):
    """How much of both boxes is common to them."""
    wide = min(a[2], b[2]) - max(a[0], b[0])  # <- slow
    high = min(a[3], b[3]) - max(a[1], b[1])  # <- slow
    if wide <= 0 or high <= 0:
        return 0.0
    common = wide * high
    return common / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common)


def pick(images):
    """Of each image the boxes, best first, that overlap no better one."""
    picked = []
    for boxes in images:
        kept = []
        for box in boxes:
            if max([overlap(box, other) for other in kept], default=0) < 0.6:  # <- slow
                kept.append(box)
        picked.append(kept)
    return picked


class Stage(nn.Module):
    def __init__(self, given, width, stride):
        super().__init__()
        self.first = nn.Conv2d(given, width, 3, stride, 1)
        self.rest = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(3))
        self.norms = nn.ModuleList(nn.BatchNorm2d(width) for _ in range(3))

    def forward(self, x):
        x = F.relu(self.first(x))
        for conv, norm in zip(self.rest, self.norms):
            x = x + F.relu(norm(conv(x)))
        return x


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.stages = nn.ModuleList([Stage(3, WIDTH, 4), Stage(WIDTH, 2 * WIDTH, 2),
                                     Stage(2 * WIDTH, 4 * WIDTH, 2)])
        self.heads = nn.ModuleList(nn.Conv2d(WIDTH << level, 5, 1) for level in range(3))

    def forward(self, images):
        """Left, top, right, bottom of the best boxes of each image."""
        x, found = images, []
        for level, (stage, head) in enumerate(zip(self.stages, self.heads)):
            x = stage(x)
            said = head(x).float()
            across, down = (torch.arange(size, device=DEVICE) for size in (x.shape[3], x.shape[2]))
            places = torch.stack(torch.meshgrid(across, down, indexing="xy"))
            middle = (places + 0.5 + said[:, :2].tanh()) * (4 << level)
            half = (8 << level) * (1 + said[:, 2:4].sigmoid())
            boxes = torch.cat([middle - half, middle + half, said[:, 4:]], 1)
            found.append(boxes.flatten(2).mT)
        found = torch.cat(found, 1)
        best = found[..., 4].topk(CANDIDATES, 1).indices
        return found.gather(1, best[..., None].expand(-1, -1, 5))[..., :4]


class Pipeline:
    def __init__(self, pool):
        torch.manual_seed(0)
        self.pool, self.coming = pool, collections.deque()
        self.detector = Detector().to(DEVICE, DTYPE).eval()

    @torch.inference_mode()
    def feed(self, images):
        boxes = self.detector(images.to(DEVICE, non_blocking=True).to(DTYPE).div_(255))  # <- slow
        self.coming.append(self.pool.submit(pick, boxes.tolist()))  # <- slow
        return self.take() if len(self.coming) > 2 * WORKERS else 0

    def take(self):
        return sum(map(len, self.coming.popleft().result()))


def make_pool(fixed):
    """Processes are begun before the GPU is."""
    if not fixed:
        return ThreadPoolExecutor(WORKERS)
    pool = ProcessPoolExecutor(WORKERS, mp_context=get_context("fork"))
    list(pool.map(pick, [[]] * WORKERS))
    return pool


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    with make_pool(args.fixed) as pool:
        pipeline = Pipeline(pool)
        maker = torch.Generator().manual_seed(1)
        shape = (IMAGES, 3, SIZE, SIZE)
        images = torch.randint(0, 256, shape, generator=maker, dtype=torch.uint8)
        images = images.pin_memory() if CUDA else images
        for _ in range(3):
            pipeline.feed(images)
        digest = sum(pipeline.take() for _ in range(3))
        steps, start = 0, time.perf_counter()
        while steps < 6 or time.perf_counter() - start < args.seconds:
            pipeline.feed(images)
            steps += 1
        while pipeline.coming:
            pipeline.take()
        took = time.perf_counter() - start
    print("%.0f images/s" % (steps * IMAGES / took))
    print(json.dumps({"digest": digest, "steps": steps, "ms_per_step": took * 1000 / steps}))


if __name__ == "__main__":
    main()
