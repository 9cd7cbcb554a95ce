"""Three contexts of one device, used in turn; one is destroyed half-way."""

import argparse

import truth
from driver import Context, Driver
from truth import copy, scope

ROUNDS = 20
KERNELS = 5


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    driver = Driver()
    contexts = [Context(driver) for _ in range(3)]
    values = [0, 0, 0]
    reads = 0
    for nth in range(ROUNDS):
        with scope("round"):
            for which, context in enumerate(contexts):
                context.bump(KERNELS)
                values[which] = context.value()
                reads += 1
        if nth == ROUNDS // 2 - 1:
            contexts.pop().destroy()
    assert values == [ROUNDS * KERNELS, ROUNDS * KERNELS, ROUNDS // 2 * KERNELS], values
    truth.tell("multi_context", kernels=sum(values), rounds=ROUNDS, contexts=3, memsets=3,
               named={"bump": sum(values)},
               copies=[copy("DtoH", "device", "pageable", reads, 4 * reads)])


if __name__ == "__main__":
    main()
