"""Segments map tiles; a thread inflates them ahead of the model."""

import queue
import threading
import zlib

import torch
from timing import Clock, arguments
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.float16) if CUDA else ("cpu", torch.float32)
TILES, SIZE, WIDTH = (16, 512, 96) if CUDA else (2, 128, 8)
AHEAD, THREADS = 8, 6


class Tiles:
    def __init__(self, threads):
        maker = torch.Generator().manual_seed(1)
        tiles = torch.randint(0, 200, (TILES, 3, SIZE, SIZE), generator=maker, dtype=torch.uint8)
        self.packed = [zlib.compress(tile.numpy().tobytes(), 1) for tile in tiles]
        self.ready, self.closed = queue.Queue(AHEAD), threading.Event()
        self.threads = [threading.Thread(target=self.fill) for _ in range(threads)]
        for thread in self.threads:
            thread.start()

    def inflate(self):
        data = bytearray().join(zlib.decompress(packed) for packed in self.packed)
        batch = torch.frombuffer(data, dtype=torch.uint8).view(TILES, 3, SIZE, SIZE)
        return batch.pin_memory() if CUDA else batch

    def fill(self):
        while not self.closed.is_set():
            self.ready.put(self.inflate())

    def next(self):
        return self.ready.get()  # <- slow

    def close(self):
        self.closed.set()
        while any(thread.is_alive() for thread in self.threads):
            try:
                self.ready.get(timeout=0.1)
            except queue.Empty:
                pass


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, WIDTH, 4, 4)
        self.body = nn.ModuleList(nn.Conv2d(WIDTH, WIDTH, 3, padding=1) for _ in range(6))
        self.head = nn.Conv2d(WIDTH, 8, 1)

    def forward(self, tiles):
        x = self.stem(tiles.to(DTYPE).div_(255))
        for layer in self.body:
            x = x + torch.relu(layer(x))
        return self.head(x).argmax(1).flatten(1).float().mean(1)


@torch.inference_mode()
def main():
    args = arguments(__doc__)
    torch.manual_seed(0)
    segmenter = Segmenter().to(DEVICE, DTYPE).eval()
    tiles = Tiles(THREADS if args.fixed else 1)
    for _ in range(AHEAD):
        batch = tiles.next()
        digest = round(segmenter(batch.to(DEVICE, non_blocking=True)).sum().item(), 1)
    clock = Clock(args.seconds)
    while clock.running():
        batch = tiles.next()  # <- slow
        segmenter(batch.to(DEVICE, non_blocking=True)).tolist()
        clock.count += 1
    clock.finish(digest)
    tiles.close()


if __name__ == "__main__":
    main()
