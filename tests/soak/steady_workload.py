"""A small server that makes a steady number of events a second, for as long as it is told.

Two threads that live as long as the program take turns in ticks of 10 ms, each with calls, a
generator, an exception that is caught and a scope; with --churn, short-lived threads come and go
beside them, as in a server with a thread for each request.  Nothing here grows: what grows while
this runs is the profiler's.
"""

import argparse
import threading
import time

from inferscope import scope

TICK_S = 0.01
EVENTS_OF_A_ROUND = 20  # see round_of_work(); soak.py checks the sum


def leaf(x):
    return x + 1


def middle(x):
    return leaf(x) + leaf(x)


def numbers():
    yield 1
    yield 2


def fails():
    raise ValueError


def round_of_work():
    """20 events: 6 calls and their ends, a generator resumed twice, an unwound call and a scope."""
    with scope("round"):
        middle(1)
        for _ in numbers():
            pass
        try:
            fails()
        except ValueError:
            pass
        leaf(2)


def work_steadily(rounds_per_s, until):
    """Rounds at a constant rate; a tick that came late is made up for, but never in a burst."""
    owed = 0.0
    last = time.monotonic()
    while last < until:
        time.sleep(TICK_S)
        now = time.monotonic()
        owed = min(owed + (now - last) * rounds_per_s, rounds_per_s * 1.0)
        last = now
        while owed >= 1:
            round_of_work()
            owed -= 1


def churn(per_s, until):
    while time.monotonic() < until:
        threads = [threading.Thread(target=round_of_work) for _ in range(per_s)]
        for thread in threads:
            thread.start()
            thread.join()
        time.sleep(1)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--events-per-s", type=int, required=True)
    arguments.add_argument("--seconds", type=float, required=True)
    arguments.add_argument("--churn", type=int, default=0, metavar="THREADS_PER_S")
    a = arguments.parse_args()
    until = time.monotonic() + a.seconds
    rounds_per_s = a.events_per_s / EVENTS_OF_A_ROUND / 2
    threads = [threading.Thread(target=work_steadily, args=(rounds_per_s, until)) for _ in range(2)]
    if a.churn:
        threads.append(threading.Thread(target=churn, args=(a.churn, until)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
