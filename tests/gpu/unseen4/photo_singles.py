"""Finds copies of photos: the queue is long, and each photo goes through the network by itself."""

import torch
from timing import Clock, arguments
from torch import nn

CUDA = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.float16) if CUDA else ("cpu", torch.float32)
SIZE, WIDTH, DEPTH = (64, 512, 16) if CUDA else (16, 16, 4)
PHOTOS = 64


class Tower(nn.Module):
    """Few, narrow pictures through deep, wide layers: a photo fills little of the device."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, WIDTH, 8, 8)
        self.layers = nn.ModuleList(nn.Conv2d(WIDTH, WIDTH, 3, padding=1) for _ in range(DEPTH))
        self.head = nn.Linear(WIDTH, 128)

    def forward(self, photos):
        x = self.stem(photos)
        for layer in self.layers:
            x = torch.relu_(layer(x))
        return self.head(x.mean((2, 3)))


class Index:
    def __init__(self):
        torch.manual_seed(0)
        self.tower = Tower().to(DEVICE, DTYPE, memory_format=torch.channels_last).eval()

    def keys_singly(self, photos):
        return torch.cat([self.tower(photo[None]) for photo in photos])  # <- slow

    def keys_together(self, photos):
        return self.tower(photos)

    def copies(self, photos, keys):
        photos = photos.to(DEVICE, non_blocking=True)
        found = torch.nn.functional.normalize(keys(photos).float(), dim=1)  # <- slow
        return (found @ found.T > 0.999).sum().item()  # <- slow


@torch.inference_mode()
def main():
    args = arguments(__doc__)
    index = Index()
    keys = index.keys_together if args.fixed else index.keys_singly
    photos = torch.randn(PHOTOS, 3, SIZE, SIZE, generator=torch.Generator().manual_seed(1))
    photos = photos.to(DTYPE).contiguous(memory_format=torch.channels_last)
    photos = photos.pin_memory() if CUDA else photos
    for _ in range(3):
        index.copies(photos, keys)
    clock = Clock(args.seconds)
    while clock.running():
        index.copies(photos, keys)
        clock.count += 1
    clock.finish(0)


if __name__ == "__main__":
    main()
