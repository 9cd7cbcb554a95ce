#!/usr/bin/env python3
"""Measures how often `inferscope diff` is wrong, and writes the tables of docs/DIFF.md.

Records bench/workloads/diff_steps.py many times, plain and with steps that are longer by 3, 5 and
10 %, in turns, and gives the traces to build/bench_diff, which compares all pairs. Traces that are
already in --traces are not recorded again.
"""

import argparse
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAMS = ["python", "native"]
LONGER = [3, 5, 10]
PLANTED = LONGER + [20]
BEGIN, END = "<!-- begin: bench/diff_study.py -->\n", "<!-- end -->\n"
MADE_UP = {
    "quiet_50_steps": "simulated: runs differ by 0.5 %, 50 steps",
    "quiet_1000_steps": "simulated: runs differ by 0.5 %, 1000 steps",
    "spread_2_50_steps": "simulated: runs differ by 2 %, 50 steps",
    "spread_2_1000_steps": "simulated: runs differ by 2 %, 1000 steps",
    "spread_3_1000_steps": "simulated: runs differ by 3 %, 1000 steps",
    "python": "recorded: Python code, 400 steps",
    "native": "recorded: native code, 400 steps",
}


def record(binary, python, path, program, percent):
    script = os.path.join(ROOT, "bench/workloads/diff_steps.py")
    subprocess.run([binary, "run", "--quiet", "--python", python, "--trace", path, "--report",
                    "/dev/null", script, program, str(percent)], check=True,
                   stdout=subprocess.DEVNULL)


def record_all(args):
    """{(program, percent): paths}; in turns, so that all see the machine alike."""
    found = {(program, percent): [] for program in PROGRAMS for percent in [0] + LONGER}
    for i in range(args.runs):
        for program, percent in found:
            if percent and i >= args.longer_runs:
                continue
            path = os.path.join(args.traces, "%s-%d-%d.isc" % (program, percent, i))
            if not os.path.exists(path):
                record(args.bin, args.python, path, program, percent)
            found[program, percent].append(path)
    return found


def measure(bench, traces):
    words = []
    for program in PROGRAMS:
        words += [program] + traces[program, 0]
        for percent in LONGER:
            words += ["vs", str(percent)] + traces[program, percent]
        words.append("--")
    lines = []
    for arguments in [], words[:-1]:
        lines += subprocess.run([bench] + arguments, check=True, stdout=subprocess.PIPE,
                                universal_newlines=True).stdout.splitlines()
    return {line.split()[0]: line.split()[1] for line in lines}


def table(values):
    rows = ["| runs | spread of a run | traces per side | false alarms | 3 % | 5 % | 10 % | 20 % |",
            "|---|--:|--:|--:|--:|--:|--:|--:|"]
    for label, title in MADE_UP.items():
        for n in 1, 3, 5:
            key = "diff.%s.%d." % (label, n)
            if key + "false_alarms" not in values:
                continue
            rows.append("| %s | %s %% | %d | %s %% | %s |" % (
                title, values["diff.%s.spread" % label], n, values[key + "false_alarms"],
                " | ".join(values[key + "detected_%d" % p] + " %" for p in PLANTED)))
    rows += ["", "Programs that really do 3, 5 or 10 % more work in each step:", "",
             "| runs | traces per side | 3 % | 5 % | 10 % |", "|---|--:|--:|--:|--:|"]
    for program in PROGRAMS:
        for n in 1, 3, 5:
            rows.append("| %s | %d | %s |" % (
                MADE_UP[program], n, " | ".join(
                    values["diff.%s.%d.detected_real_%d" % (program, n, p)] + " %"
                    for p in LONGER)))
    rows += ["", "A t-test that takes steps for independent, on the same pairs of runs of one "
             "program: false alarms in " + ", ".join(
                 "%s %% (%s)" % (values["diff.%s.1.steps_as_independent" % label], title)
                 for label, title in MADE_UP.items()) + "."]
    return "\n".join(rows) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", default=os.path.join(ROOT, "build/stage/bin/inferscope"))
    parser.add_argument("--bench", default=os.path.join(ROOT, "build/bench_diff"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--traces", required=True, help="folder for the traces")
    parser.add_argument("--runs", type=int, default=46, help="of each program; 46 are 1035 pairs")
    parser.add_argument("--longer-runs", type=int, default=16, help="of each longer one")
    parser.add_argument("--write", action="store_true", help="the tables into docs/DIFF.md")
    args = parser.parse_args()
    os.makedirs(args.traces, exist_ok=True)
    text = table(measure(args.bench, record_all(args)))
    if not args.write:
        sys.stdout.write(text)
        return
    path = os.path.join(ROOT, "docs/DIFF.md")
    with open(path, encoding="utf-8") as file:
        page = file.read()
    page = re.sub(re.escape(BEGIN) + ".*?" + re.escape(END), lambda _: BEGIN + text + END, page,
                  flags=re.S)
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)


if __name__ == "__main__":
    main()
