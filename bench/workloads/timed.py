"""How a workload of bench_cpu.py times itself.

Each script beside this one calls main() with a function that does `rounds` rounds of its work.
What counts is that loop alone: interpreter start, imports and a first round are not in it.

BENCH_SCALE multiplies the rounds (tests run next to nothing); BENCH_SECONDS names the file that
gets the seconds, by the clock and of this process' CPU time, which are printed where it is not
set.  Both are in the environment because every profiler has its own way to hand arguments on.
With BENCH_SERVE (turns.py) it does as many rounds as each line that it reads says, and answers.
"""

import os
import sys
import time


def timed(work, rounds):
    """What the rounds took, as text: by the clock, and of CPU time."""
    start, cpu_start = time.perf_counter(), time.process_time()
    work(rounds)
    cpu, seconds = time.process_time() - cpu_start, time.perf_counter() - start
    return "%.9f %.9f" % (seconds, cpu)


def serve(work):
    print("0 0", flush=True)
    for line in sys.stdin:
        print(timed(work, int(line)), flush=True)


def main(work, rounds):
    rounds = max(1, round(rounds * float(os.environ.get("BENCH_SCALE", "1"))))
    work(1)
    if os.environ.get("BENCH_SERVE"):
        serve(work)
        return
    took = timed(work, rounds)
    path = os.environ.get("BENCH_SECONDS")
    if path:
        with open(path, "w", encoding="utf-8") as file:
            file.write(took)
    else:
        print("%d rounds; seconds, and of CPU time: %s" % (rounds, took))
