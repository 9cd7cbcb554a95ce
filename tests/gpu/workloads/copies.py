"""Copies of known sizes between pageable, pinned and device memory."""

import argparse

import torch

import truth
from truth import copy, scope

SIZES = [4, 1000, 65536, 65540, 1 << 20, 10_000_000]
ROUNDS = 5


def transfer(destination, source):
    for to, of in zip(destination, source):
        to.copy_(of, non_blocking=True)


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    torch.manual_seed(0)
    pageable = [torch.randint(256, (size,), dtype=torch.uint8) for size in SIZES]
    pinned = [tensor.pin_memory() for tensor in pageable]
    back = [torch.empty_like(tensor) for tensor in pageable]
    back_pinned = [torch.empty_like(tensor).pin_memory() for tensor in pageable]
    on_device = [torch.empty(size, dtype=torch.uint8, device="cuda") for size in SIZES]
    other = [torch.empty(size, dtype=torch.uint8, device="cuda") for size in SIZES]
    for _ in range(ROUNDS):
        with scope("round"):
            transfer(on_device, pageable)
            transfer(on_device, pinned)
            transfer(other, on_device)
            transfer(back, other)
            transfer(back_pinned, other)
            torch.cuda.synchronize()
    count, nbytes = ROUNDS * len(SIZES), ROUNDS * sum(SIZES)
    truth.tell("copies", kernels=0, digest=truth.digest(*back, *back_pinned),
               copies=[copy("HtoD", "pageable", "device", count, nbytes),
                       copy("HtoD", "pinned", "device", count, nbytes),
                       copy("DtoD", "device", "device", count, nbytes),
                       copy("DtoH", "device", "pageable", count, nbytes),
                       copy("DtoH", "device", "pinned", count, nbytes)])


if __name__ == "__main__":
    main()
