"""How a workload of bench_cpu.py times itself.

Each script beside this one calls main() with a function that does `rounds` rounds of its work.
What counts is that loop alone: interpreter start, imports and a first round are not in it.

BENCH_SCALE multiplies the rounds (tests run next to nothing); BENCH_SECONDS names the file that
gets the seconds, by the clock and of this process' CPU time, which are printed where it is not
set.  Both are in the environment because every profiler has its own way to hand arguments on.
"""

import os
import time


def main(work, rounds):
    rounds = max(1, round(rounds * float(os.environ.get("BENCH_SCALE", "1"))))
    work(1)
    start, cpu_start = time.perf_counter(), time.process_time()
    work(rounds)
    cpu, seconds = time.process_time() - cpu_start, time.perf_counter() - start
    path = os.environ.get("BENCH_SECONDS")
    if path:
        with open(path, "w", encoding="utf-8") as file:
            file.write("%.9f %.9f" % (seconds, cpu))
    else:
        print("%d rounds in %.3f s, %.3f s of CPU time" % (rounds, seconds, cpu))
