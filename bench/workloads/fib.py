"""Nothing but calls: the worst that a call tracer can meet."""

import timed


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def work(rounds):
    for _ in range(rounds):
        fib(18)


if __name__ == "__main__":
    timed.main(work, 3000)
