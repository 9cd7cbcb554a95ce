"""Ends in every way a program can end, after device work that is done.

Those ways that give nobody a chance to flush come 1.5 s after the work.
"""

import argparse
import os
import signal
import sys
import time

import torch

import truth

KERNELS = 60
CYCLES = 20_000
LINGER = 1.5


def by_exception():
    raise RuntimeError("this is how the workload ends")


def by_os_exit():
    time.sleep(LINGER)
    os._exit(6)


def by_signal(number):
    time.sleep(LINGER)
    os.kill(os.getpid(), number)
    time.sleep(60)


WAYS = {
    "return": lambda: None,
    "exception": by_exception,
    "sys.exit": lambda: sys.exit(5),
    "os._exit": by_os_exit,
    "SIGTERM": lambda: by_signal(signal.SIGTERM),
    "SIGKILL": lambda: by_signal(signal.SIGKILL),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("way", choices=sorted(WAYS))
    args = parser.parse_args()
    for _ in range(KERNELS):
        torch.cuda._sleep(CYCLES)
    torch.cuda.synchronize()
    truth.tell("exits", way=args.way, kernels=KERNELS)
    WAYS[args.way]()


if __name__ == "__main__":
    main()
