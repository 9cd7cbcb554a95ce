"""Serves a model with an adapter for each customer; adapters are files.

Slow:  each request reads its adapter from the disk; there are more than the page cache holds
       (here the kernel is told so, file by file).
Fixed: the adapters in use stay in memory.
"""

import os
import tempfile

import torch

from harness import Clock, options
from models import build, encoder


class AdapterFiles:
    """One file of weights for each customer."""

    def __init__(self, folder, width, matrices, pinned, count=8):
        self.buffer = torch.empty(matrices, width, width, pin_memory=pinned)
        self.paths = [os.path.join(folder, "adapter-%d.bin" % n) for n in range(count)]
        for path in self.paths:
            with open(path, "wb") as file:
                file.write(torch.randn_like(self.buffer).mul_(0.01).numpy().tobytes())
                file.flush()
                os.fsync(file.fileno())
            self.evict(path)

    @staticmethod
    def evict(path):
        """What a machine short of memory does to files that were read a while ago."""
        file = os.open(path, os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)

    def load(self, customer):
        """The customer's weights, until the next call."""
        path = self.paths[customer]
        with open(path, "rb", buffering=0) as file:
            file.readinto(self.buffer.numpy())  # <- slow
        self.evict(path)
        return self.buffer


class AdapterCache:
    def __init__(self, files, device):
        self.files = files
        self.device = device
        self.loaded = {}

    def load(self, customer):
        if customer not in self.loaded:
            self.loaded[customer] = self.files.load(customer).to(self.device, copy=True)
        return self.loaded[customer]


class Server:
    def __init__(self, model, adapters, device, dtype):
        self.model = model
        self.adapters = adapters
        self.device = device
        self.dtype = dtype

    @torch.inference_mode()
    def handle(self, customer, batch):
        adapter = self.adapters.load(customer).to(self.device).to(self.dtype)
        hidden = self.model(batch.to(self.device))
        for matrix in adapter:
            hidden = hidden + hidden @ matrix
        return hidden.mean(dim=1).argmax(dim=-1).tolist()


def main():
    args = options(__doc__, steps=80, cpu_steps=40)
    width, layers = (1024, 4) if args.on_gpu else (256, 1)
    # Not in /tmp, which may be memory.
    with tempfile.TemporaryDirectory(prefix="adapters-", dir=".") as folder:
        files = AdapterFiles(folder, width, 8 if args.on_gpu else 16, pinned=args.on_gpu)
        adapters = AdapterCache(files, args.device) if args.fixed else files
        model = build(lambda: encoder(width, 8, layers), args.device, args.dtype)
        server = Server(model, adapters, args.device, args.dtype)
        batch = torch.randn(4, 32, width, dtype=args.dtype)
        for customer in range(len(files.paths) if args.fixed else 0):
            adapters.load(customer)
        clock = Clock(args)
        while not clock.step(server.handle(clock.count % len(files.paths), batch)):
            pass
        clock.finish()


if __name__ == "__main__":
    main()
