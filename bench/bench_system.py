"""What reading about memory and the system from outside costs the workload, and nothing else of it
is recorded.

Processes differ by more than the cost that is asked for: so it is switched on and off in one.  The
program stops its recorder (SIGSTOP) for every other stretch of its work, the order swapped from
pair to pair, and times the stretches by the clock.  What is measured is therefore the reading and
all else that a recorder does that has nothing to record.  What a second of standing still has made
due is read at once when it goes on, and counts: the ratio is rather too high.  The programs are
those that have most to lose: one that changes its address space all the time, whose lock some of
the sources take, and those that need every CPU there is.

    make bench BENCH=system                               100 pairs of each, all CPUs
    bench_system.py --lanes 8 --seconds 60 --cores 2,1    a machine of 16 CPUs: lanes of two each,
                                                          programs on both CPUs of a lane or one

--control: memory is not recorded either; what is left is the rest of the recorder.
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile

import paired

BINARY = os.environ["INFERSCOPE_BIN"]
RUN = [BINARY, "run", "--quiet", "--no-trace", "--no-cpu", "--no-gpu", "--no-nvtx", "--report",
       "r.json", "--python", sys.executable]

SWITCH = """
import json, mmap, os, signal, sys, threading, time

def stretch(work, rounds, on):
    os.kill(os.getppid(), signal.SIGCONT if on else signal.SIGSTOP)
    start = time.perf_counter()
    for _ in range(rounds): work()
    return time.perf_counter() - start

def measure(work, length, pairs, seconds):
    start = time.perf_counter()
    for _ in range(3): work()
    rounds = max(1, round(3 * length / (time.perf_counter() - start)))
    until = time.perf_counter() + seconds
    times = []
    while len(times) < pairs or time.perf_counter() < until:
        first = stretch(work, rounds, len(times) % 2)
        second = stretch(work, rounds, not len(times) % 2)
        times.append((second, first) if len(times) % 2 else (first, second))
    os.kill(os.getppid(), signal.SIGCONT)
    print(json.dumps(times))
"""

PROGRAMS = {
    # What stays makes looks at all pages dear; the loop maps, faults in and unmaps.
    "mmap": """
held = mmap.mmap(-1, 1 << 28); held[:] = bytes(1 << 28)
page = b"x" * (4 << 20)
def work():
    memory = mmap.mmap(-1, 4 << 20); memory[:] = page; memory.close()
""",
    # One thread for each CPU, in C code that lets go of the GIL.
    "compute": """
import hashlib
data = bytes(4 << 20)
def work():
    threads = [threading.Thread(target=lambda: hashlib.sha256(data).digest())
               for _ in os.sched_getaffinity(0)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
""",
    "python": """
def work():
    total = 0
    for i in range(20000): total += i * i % 7
""",
}


def run(name, cpus, arguments, seconds):
    """[(seconds without, seconds with), ...]"""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "workload.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write(SWITCH + PROGRAMS[name] +
                       "measure(work, %f, %d, %f)\n"
                       % (arguments.stretch, arguments.pairs, seconds))
        os.sched_setaffinity(0, cpus)
        done = subprocess.run(RUN + ["--no-memory"] * arguments.control + [program], cwd=folder,
                              check=True, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def run_lane(cpus, arguments, lane, results):
    """All cells, each lane beginning with another one."""
    cells = [(name, count) for name in arguments.programs or PROGRAMS
             for count in arguments.cores or [len(cpus)]]
    times = {}
    try:
        for nth in range(len(cells)):
            name, count = cells[(nth + lane) % len(cells)]
            times["%s/%d" % (name, count)] = run(name, cpus[:count], arguments,
                                                 arguments.seconds / len(cells))
    finally:
        results.put(times)


def lanes_of(count):
    cpus = sorted(os.sched_getaffinity(0))
    return [cpus[lane * len(cpus) // count:(lane + 1) * len(cpus) // count]
            for lane in range(count)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int,
                        default=int(os.environ.get("INFERSCOPE_BENCH_PAIRS", 100)))
    parser.add_argument("--seconds", type=float, default=0, help="or longer, until they are over")
    parser.add_argument("--stretch", type=float, default=0.3, help="seconds; shorter ones hide "
                        "slower changes of the machine, and have more of what was due meanwhile")
    parser.add_argument("--lanes", type=int, default=1, help="at a time, each with its own CPUs")
    parser.add_argument("--cores", type=lambda text: [int(n) for n in text.split(",")],
                        help="of a lane that a program and its recorder have; default: all")
    parser.add_argument("--programs", type=lambda text: text.split(","),
                        help="of %s" % ", ".join(PROGRAMS))
    parser.add_argument("--control", action="store_true", help="without the reading itself")
    parser.add_argument("--raw", help="file for all pairs")
    arguments = parser.parse_args()

    results, cells = multiprocessing.Queue(), {}
    lanes = [multiprocessing.Process(target=run_lane, args=(cpus, arguments, lane, results))
             for lane, cpus in enumerate(lanes_of(arguments.lanes))]
    for lane in lanes:
        lane.start()
    for _ in lanes:
        for name, times in results.get().items():
            cells.setdefault(name, []).extend(times)
    for lane in lanes:
        lane.join()
    if arguments.raw:
        with open(arguments.raw, "w", encoding="utf-8") as file:
            json.dump(cells, file)
    for name, times in sorted(cells.items()):
        ratio = paired.summarize(times)
        print("system.%s.pairs %d pairs" % (name, len(times)))
        print("system.%s %.4f x" % (name, ratio.median))
        print("system.%s.low %.4f x" % (name, ratio.low))
        print("system.%s.high %.4f x <= 1.01" % (name, ratio.high), flush=True)
    return 0 if cells else 1


if __name__ == "__main__":
    sys.exit(main())
