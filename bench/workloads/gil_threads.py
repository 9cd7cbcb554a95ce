"""Sixteen threads of pure Python that fight for the GIL."""

import threading

import timed

THREADS = 16


def collatz(n):
    steps = 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return steps


def longest(first, count):
    return max(collatz(n) for n in range(first, first + count))


def work(rounds):
    threads = [threading.Thread(target=longest, args=(1 + nth, 4 * rounds))
               for nth in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    timed.main(work, 4000)
