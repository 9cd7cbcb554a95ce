"""Forks after CUDA was initialised: the child, which may not use it, lives and ends untouched."""

import argparse
import os

import truth
from driver import Context, Driver
from truth import scope

KERNELS = 50
CHILD_STATUS = 7


def child():
    with scope("child"):
        total = sum(range(100_000))
    os._exit(CHILD_STATUS if total == 4_999_950_000 else 1)


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    context = Context(Driver())
    context.bump(KERNELS)
    pid = os.fork()
    if pid == 0:
        child()
    context.bump(KERNELS)
    _, status = os.waitpid(pid, 0)
    assert context.value() == 2 * KERNELS
    truth.tell("fork_after_init", kernels=2 * KERNELS, named={"bump": 2 * KERNELS},
               child_status=os.WEXITSTATUS(status) if os.WIFEXITED(status) else -1)


if __name__ == "__main__":
    main()
