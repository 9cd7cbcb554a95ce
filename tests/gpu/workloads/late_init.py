"""Uses the GPU late, for the first time in a thread that is not the main one."""

import argparse
import threading
import time

import torch

import truth
from truth import scope

KERNELS = 50


def work():
    with scope("late"):
        for _ in range(KERNELS):
            torch.cuda._sleep(20_000)
        torch.cuda.synchronize()


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    time.sleep(1.2)
    thread = threading.Thread(target=work, name="late")
    thread.start()
    thread.join()
    work()
    truth.tell("late_init", kernels=2 * KERNELS, threads=2)


if __name__ == "__main__":
    main()
