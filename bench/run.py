"""Runs the benchmarks and prints one table (protocol: bench/README.md)."""

import argparse
import glob
import os
import platform
import re
import subprocess
import sys
from collections import namedtuple

HERE = os.path.dirname(os.path.abspath(__file__))
LINE = re.compile(r"(\S+) (-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?) (\S+)(?: (<=|>=) (\S+))?")

Result = namedtuple("Result", "name value unit goal met")


class ProtocolError(Exception):
    pass


def parse(output):
    """(results, remarks) of a benchmark's output."""
    results, remarks = [], []
    for line in output.splitlines():
        if line.startswith("#"):
            remarks.append(line[1:].strip())
            continue
        match = LINE.fullmatch(line.strip())
        if not match:
            raise ProtocolError("not a result: %r" % line)
        name, value, unit, relation, goal = match.groups()
        met = None
        if goal:
            met = float(value) <= float(goal) if relation == "<=" else float(value) >= float(goal)
        results.append(Result(name, value, unit, "%s %s" % (relation, goal) if goal else "", met))
    return results, remarks


def machine():
    model = platform.machine()
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    commit = subprocess.run(["git", "-C", HERE, "describe", "--always", "--dirty"],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return "%s, %d cores, load %.2f; Linux %s; Python %s; commit %s" % (
        model, os.cpu_count(), os.getloadavg()[0], platform.release(),
        platform.python_version(), commit.stdout.strip() or "unknown")


def commands(build, words):
    """(name, argument vector) of every benchmark whose name contains one of the words."""
    built = glob.glob(os.path.join(build, "**", "bench_*"), recursive=True)
    found = [(path, [path]) for path in built if os.path.isfile(path) and os.access(path, os.X_OK)]
    found += [(path, [sys.executable, path])
              for path in glob.glob(os.path.join(HERE, "bench_*.py"))]
    for path, arguments in sorted(found, key=lambda item: os.path.basename(item[0])):
        name = os.path.basename(path)
        if not words or any(word in name for word in words):
            yield name, arguments


def show(results):
    width = max(len(result.name) for result in results)
    for result in results:
        mark = {None: "", True: "met", False: "MISSED"}[result.met]
        print(("%-*s %12s %-12s %-10s %s" % (width, result.name, result.value, result.unit,
                                             result.goal, mark)).rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build-bench", help="where CMake built")
    parser.add_argument("--strict", action="store_true", help="a missed goal is a failure")
    parser.add_argument("words", nargs="*", help="only benchmarks whose name contains one of these")
    args = parser.parse_args()

    print(machine())
    environment = dict(os.environ, INFERSCOPE_BIN=os.path.abspath(
        os.path.join(args.build, "stage", "bin", "inferscope")))
    results, remarks, failures = [], [], []
    for name, arguments in commands(args.build, args.words):
        print("running %s ..." % name, file=sys.stderr, flush=True)
        run = subprocess.run(arguments, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                             env=environment)
        try:
            its_results, its_remarks = parse(run.stdout)
        except ProtocolError as error:
            failures.append("%s: %s" % (name, error))
            continue
        results += its_results
        remarks += its_remarks
        if run.returncode:
            failures.append("%s: exit status %d" % (name, run.returncode))
        elif not its_results:
            failures.append("%s: no result" % name)
    if results:
        print()
        show(results)
    elif not failures:
        failures.append("no benchmark of that name")
    for remark in remarks:
        print("# " + remark)
    for failure in failures:
        print("FAILED " + failure)
    missed = args.strict and any(result.met is False for result in results)
    return 1 if failures or missed else 0


if __name__ == "__main__":
    sys.exit(main())
