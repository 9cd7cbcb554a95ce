"""What the programs of this folder share: their arguments, and the clock that says what a request
takes.  Nothing here decides what is slow."""

import argparse
import json
import time


def arguments(doc):
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seconds", type=float, default=3)
    return parser.parse_args()


class Clock:
    """Counts requests until the time is over; at least six."""

    def __init__(self, seconds):
        self.seconds, self.count, self.start = seconds, 0, time.perf_counter()

    def running(self):
        return self.count < 6 or time.perf_counter() - self.start < self.seconds

    def finish(self, digest):
        took = time.perf_counter() - self.start
        print(json.dumps({"digest": digest, "steps": self.count,
                          "ms_per_step": took * 1000 / self.count}))
