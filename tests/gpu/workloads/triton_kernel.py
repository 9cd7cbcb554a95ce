"""A Triton kernel, which is launched through the driver API and not the runtime."""

import argparse

import torch
import triton
import triton.language as tl

import truth
from truth import scope

BLOCK = 1024


@triton.jit
def scaled_add(x, y, out, n, scale, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    inside = at < n
    total = tl.load(x + at, mask=inside) + scale * tl.load(y + at, mask=inside)
    tl.store(out + at, total, mask=inside)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--launches", type=int, default=200)
    args = parser.parse_args()

    n = 1 << 20
    torch.manual_seed(0)
    x, y = torch.rand(2, n, device="cuda")
    out = torch.empty_like(x)
    for nth in range(args.launches):
        with scope("launch"):
            scaled_add[(triton.cdiv(n, BLOCK),)](x, y, out, n, float(nth), block=BLOCK)
    torch.cuda.synchronize()
    truth.tell("triton_kernel", named={"scaled_add": args.launches}, grid=[n // BLOCK, 1, 1],
               digest=truth.digest(out.cpu()))


if __name__ == "__main__":
    main()
