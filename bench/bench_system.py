"""What reading about memory and the system from outside costs the workload: the same recording with
and without it, interleaved, and nothing else recorded.

Each program times itself, from its first loop to its last, by the clock and by its CPU time, which
is steadier on a busy machine: what starting the recorder takes is not asked here.  The programs are
those that have most to lose: one that changes its address space all the time, whose lock some of
the sources take, and those that need every CPU there is.
"""

import os
import subprocess
import sys
import tempfile

import paired

BINARY = os.environ["INFERSCOPE_BIN"]
PAIRS = int(os.environ.get("INFERSCOPE_BENCH_PAIRS", 30))
RUN = [BINARY, "run", "--quiet", "--no-trace", "--no-cpu", "--no-gpu", "--no-nvtx", "--report",
       "r.json", "--python", sys.executable]

CLOCK = """
import mmap, os, sys, threading, time
def timed(work, rounds):
    work()
    start, used = time.perf_counter(), time.process_time()
    for _ in range(rounds): work()
    print(time.perf_counter() - start, time.process_time() - used)
"""

PROGRAMS = {
    # What stays makes looks at all pages dear; the loop maps, faults in and unmaps.
    "mmap": CLOCK + """
held = mmap.mmap(-1, 1 << 28); held[:] = bytes(1 << 28)
page = b"x" * (4 << 20)
def work():
    memory = mmap.mmap(-1, 4 << 20); memory[:] = page; memory.close()
timed(work, 250)
""",
    # One thread for each CPU, in C code that lets go of the GIL.
    "compute": CLOCK + """
import hashlib
data = bytes(16 << 20)
def work():
    threads = [threading.Thread(target=lambda: hashlib.sha256(data).digest())
               for _ in os.sched_getaffinity(0)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
timed(work, 20)
""",
    "python": CLOCK + """
def work():
    total = 0
    for i in range(200000): total += i * i % 7
timed(work, 50)
""",
}


def seconds(program, folder, *options):
    """(by the clock, CPU time)"""
    done = subprocess.run(RUN + [*options, program], cwd=folder, check=True, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    return tuple(map(float, done.stdout.split()))


def main():
    for name, text in PROGRAMS.items():
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "workload.py")
            with open(program, "w", encoding="utf-8") as file:
                file.write(text)
            times = paired.interleave(lambda: seconds(program, folder, "--no-memory"),
                                      lambda: seconds(program, folder), PAIRS)
        for nth, what in enumerate(("clock", "cpu")):
            ratio = paired.summarize([(base[nth], other[nth]) for base, other in times])
            print("system.%s.%s %.4f x" % (name, what, ratio.median))
            print("system.%s.%s.low %.4f x" % (name, what, ratio.low))
            print("system.%s.%s.high %.4f x <= 1.01" % (name, what, ratio.high), flush=True)


main()
