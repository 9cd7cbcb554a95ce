"""Ends while a kernel that spins for many seconds is still running."""

import argparse
import time

import torch

import truth

SHORT = 20


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15)
    args = parser.parse_args()
    for _ in range(SHORT):
        torch.cuda._sleep(20_000)
    torch.cuda.synchronize()
    torch.cuda._sleep(int(args.seconds * 1.9e9))
    # CLOCK_MONOTONIC is one for all processes: the checker subtracts this from the end it sees.
    truth.tell("busy_exit", kernels_done=SHORT, spin_s=args.seconds, end_s=time.monotonic())


if __name__ == "__main__":
    main()
