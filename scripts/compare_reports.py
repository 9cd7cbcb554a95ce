#!/usr/bin/env python3
"""Compares the reports of two builds: do they give the same numbers for the same traces?

    scripts/compare_reports.py BIN_A BIN_B [TRACE...]

Without traces: all that are in the repository (examples/traces, the stories of tests/golden, the
traces among the fuzzers' seeds).  A story becomes a trace with the story_trace of BIN_A's build.
Each trace is analyzed by both programs; report.json is compared key by key.  Numbers, keys, the
order of lists and exit statuses must be equal: else the status is 1.  Texts may differ in wording;
those that do are listed, and those in which the figures differ are marked with `!`.
"""

import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DETAILS = ("full", "short")
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def repository_traces(binary, folder):
    """Paths of all traces; those of stories are written into the folder."""
    found = sorted(glob.glob(os.path.join(ROOT, "examples/traces/*.isc")))
    tool = os.path.join(os.path.dirname(os.path.abspath(binary)), "../../tests/unit/story_trace")
    for story in sorted(glob.glob(os.path.join(ROOT, "tests/golden/*.story"))):
        if not os.path.exists(tool):
            sys.exit("no %s: build the tests of BIN_A" % os.path.normpath(tool))
        trace = os.path.join(folder, os.path.basename(story)[:-len(".story")] + ".isc")
        subprocess.run([tool, story, trace], check=True)
        found.append(trace)
    for seed in sorted(glob.glob(os.path.join(ROOT, "tests/fuzz/corpus/trace/*"))):
        found.append(seed)
    return found


def analyze(binary, trace, detail, folder):
    """(exit status, report or None)."""
    path = os.path.join(folder, "report.json")
    if os.path.exists(path):
        os.unlink(path)
    run = subprocess.run([binary, "analyze", "--detail", detail, "--report", path, trace],
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    if not os.path.exists(path):
        return run.returncode, None
    with open(path, encoding="utf-8") as file:
        return run.returncode, json.load(file)


def compare(a, b, where, differences, wordings):
    """Adds (where, a, b) to differences, or to wordings where only texts differ."""
    if isinstance(a, str) and isinstance(b, str):
        if a != b:
            wordings.append((where, a, b))
    elif type(a) is not type(b) or not isinstance(a, (dict, list)):
        if a != b or type(a) is not type(b):
            differences.append((where, a, b))
    elif isinstance(a, dict):
        for key in sorted(set(a) | set(b)):
            if key not in a or key not in b:
                differences.append((where + "." + key, a.get(key, "(no such key)"),
                                    b.get(key, "(no such key)")))
            else:
                compare(a[key], b[key], where + "." + key, differences, wordings)
    else:
        if len(a) != len(b):
            differences.append((where + ".length", len(a), len(b)))
        for i, (x, y) in enumerate(zip(a, b)):
            compare(x, y, "%s[%d]" % (where, i), differences, wordings)


def count_values(value):
    if isinstance(value, dict):
        return sum(count_values(v) for v in value.values())
    if isinstance(value, list):
        return sum(count_values(v) for v in value)
    return 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bin_a")
    parser.add_argument("bin_b")
    parser.add_argument("traces", nargs="*")
    args = parser.parse_args()
    reports = values = 0
    bad, wordings = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for trace in args.traces or repository_traces(args.bin_a, folder):
            for detail in DETAILS:
                status_a, a = analyze(args.bin_a, trace, detail, folder)
                status_b, b = analyze(args.bin_b, trace, detail, folder)
                name = "%s (%s)" % (os.path.basename(trace), detail)
                differences = []
                if status_a != status_b:
                    differences.append(("exit status", status_a, status_b))
                texts = []
                compare(a, b, "", differences, texts)
                for where, x, y in texts:
                    wordings.setdefault((x, y), []).append(name + " " + where)
                bad += [(name,) + d for d in differences]
                reports += a is not None
                values += count_values(a)
    for (x, y), places in sorted(wordings.items()):
        mark = "!" if NUMBER.findall(x) != NUMBER.findall(y) else " "
        print("%s text, %d times, first %s:\n    - %s\n    + %s"
              % (mark, len(places), places[0], x, y))
    for name, where, x, y in bad:
        print("DIFFERENT %s %s: %r, %r" % (name, where, x, y))
    print("%d reports, %d values: %d differ, %d texts have another wording"
          % (reports, values, len(bad), len(wordings)))
    return 1 if bad or not reports else 0


if __name__ == "__main__":
    sys.exit(main())
