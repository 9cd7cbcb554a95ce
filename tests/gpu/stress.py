"""Records programs that have died under recording, again and again: no death, no hang.

Several at a time; each run must end with the status and the last line of a plain one, within its
time, and its report must be there.

    tests/gpu/stress.py [--runs N] [--seconds S] [--lanes N] [--out DIR] [word ...]

The last line counts the runs.  The status is 1 if any went wrong.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import shutil
import sys
import tempfile
import threading
import time

import kit

TIMEOUT_S = 90

Program = collections.namedtuple("Program", "name command options")

PROGRAMS = [
    Program("adapters", ["service_adapters.py", "--iters", "40"], []),
    Program("threads", ["service_threads.py", "--iters", "40"], []),
    Program("churn", ["churn.py"], []),
    Program("churn_graphs", ["churn.py", "--graphs"], []),
    Program("churn_whole", ["churn.py", "--graphs"], ["--graph-nodes", "off"]),
    # A recording that begins late and ends early, in the middle of everything.
    Program("churn_short", ["churn.py"], ["--delay", "2.5", "--duration", "0.3"]),
    Program("churn_short_graphs", ["churn.py", "--graphs"],
            ["--delay", "2.5", "--duration", "0.3"]),
    Program("profiler_inside", ["torch_profiler_inside.py"], []),
    Program("graph_decode", ["graph_decode.py"], []),
    Program("loader", ["loader_pipeline.py"], []),
]


def last_line(text):
    return (text.strip().splitlines() or [""])[-1]


def what_counts(program, stdout):
    """What must be the same in every run: not times, process ids, libraries."""
    line = last_line(stdout)
    try:
        facts = json.loads(line)
    except ValueError:
        return line
    return {key: value for key, value in facts.items()
            if key not in ("cupti", "pid", "loaded") and not key.endswith("_ms")}


class Stress:
    def __init__(self, folder, deadline):
        self.folder, self.deadline = folder, deadline
        self.lock, self.plain = threading.Lock(), {}
        self.counts, self.problems = collections.Counter(), []

    def expected(self, program):
        key = " ".join(program.command)
        if key not in self.plain:
            command = [kit.script(program.command[0])] + program.command[1:]
            done = kit.execute(kit.plain(command), TIMEOUT_S)
            self.plain[key] = (done.status, what_counts(program, done.stdout))
        return self.plain[key]

    def one(self, program, nth):
        if time.monotonic() > self.deadline:
            return
        base = os.path.join(self.folder, "%s-%d" % (program.name, nth))
        trace, report = base + ".isc", base + ".json"
        command = [kit.script(program.command[0])] + program.command[1:]
        done = kit.execute(kit.recorded(command, trace, report, program.options, budget=()),
                           TIMEOUT_S)
        problem = None
        if done.status is None:
            problem = "hung: not done after %d s" % TIMEOUT_S
        elif (done.status, what_counts(program, done.stdout)) != self.expected(program):
            problem = "status %s, said %s; expected %s" % (
                done.status, what_counts(program, done.stdout), self.expected(program))
        elif not os.path.exists(report):
            problem = "no report"
        with self.lock:
            self.counts[program.name] += 1
            if problem:
                self.problems.append("%s run %d: %s\n%s" % (program.name, nth, problem,
                                                            done.stderr[-1500:]))
                print("# WRONG: " + self.problems[-1], flush=True)
        for path in (trace, report):
            if os.path.exists(path):
                os.unlink(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=60, help="of each program")
    parser.add_argument("--seconds", type=float, default=500, help="none begins after so long")
    parser.add_argument("--lanes", type=int, default=6, help="runs at a time")
    parser.add_argument("words", nargs="*", help="only programs whose name contains one of these")
    args = parser.parse_args()

    problem = kit.obstacle()
    if problem:
        print("# stress: SKIP, " + problem)
        return kit.NOTHING
    programs = [program for program in PROGRAMS
                if not args.words or any(word in program.name for word in args.words)]
    folder = tempfile.mkdtemp(prefix="inferscope-stress-")
    try:
        stress = Stress(folder, time.monotonic() + args.seconds)
        for program in programs:
            status, said = stress.expected(program)
            if status:
                print("# %s: FAILED, its plain run ends with status %s: %s"
                      % (program.name, status, said))
                return 1
        with concurrent.futures.ThreadPoolExecutor(args.lanes) as lanes:
            for nth in range(args.runs):
                for program in programs:
                    lanes.submit(stress.one, program, nth)
        for program in programs:
            wrong = sum(text.startswith(program.name + " run") for text in stress.problems)
            print("stress.%s: %d runs, %d wrong" % (program.name, stress.counts[program.name],
                                                    wrong))
        print("stress: %d runs, %d wrong" % (sum(stress.counts.values()), len(stress.problems)))
        return 1 if stress.problems else 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
