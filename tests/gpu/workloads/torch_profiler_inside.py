"""Uses torch.profiler for the middle third of its run: it must see what it sees without us."""

import argparse

import torch
from torch.profiler import ProfilerActivity, profile

import truth
from truth import scope

KERNELS = 40
CYCLES = 20_000


def spin():
    for _ in range(KERNELS):
        torch.cuda._sleep(CYCLES)
    torch.cuda.synchronize()


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    with scope("before"):
        spin()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        with scope("inside"):
            spin()
    with scope("after"):
        spin()
    seen = sum(event.count for event in profiler.key_averages() if "spin_kernel" in event.key)
    truth.tell("torch_profiler_inside", kernels_before=KERNELS, kernels_inside=KERNELS,
               kernels_after=KERNELS, profiler_saw=seen)


if __name__ == "__main__":
    main()
