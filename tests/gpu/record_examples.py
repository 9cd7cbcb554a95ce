"""Records the programs of examples/bottlenecks, one after the other, as a user would: default
settings.  Traces, reports and what the programs say of themselves are left in archives, few and
small enough to be carried: examples-1.tar, examples-2.tar, ...

    record_examples.py                                     slow and healthy ones, then the fixed
    record_examples.py held_lock fixed                     both variants of one, then all the fixed
    record_examples.py --seconds 1 gil_fight_slow healthy_balanced
"""

import argparse
import os
import sys
import tarfile
import tempfile
import time

import kit
from kit import FAIL, OK, SKIP, Row

sys.path.insert(0, os.path.join(kit.ROOT, "examples", "bottlenecks"))
import catalogue  # noqa: E402

TRACE_BYTES = 4 << 20  # a larger one is told
ARCHIVE_BYTES = 15 << 20
ARCHIVES = 6
TIMEOUT_S = 60


def record(name, command, folder, options, understand=catalogue.said):
    """(row, what the program said)."""
    base = os.path.join(folder, name)
    command = kit.recorded(command, base + ".isc", base + ".md", options, budget=())
    done = kit.execute(command, TIMEOUT_S, cwd=folder)
    whose = " of the recorder" if done.killed else ""
    with open(base + ".log", "w", encoding="utf-8") as file:
        file.write(done.stdout + done.stderr)
        if done.status != 0:
            file.write("status%s: %s\n" % (whose, done.status))
    said = understand(done.stdout)
    if done.status != 0 or said is None:
        last = (done.stderr.strip().splitlines() or done.stdout.strip().splitlines() or [""])[-1]
        return Row(name, "recorded", "status 0",
                   "status%s %s: %s" % (whose, done.status, last), FAIL), None
    size = os.path.getsize(base + ".isc")
    got = "%.1f MB, %d x %.2f ms, %.1f s" % (size / 1e6, said["steps"], said["ms_per_step"],
                                             done.seconds)
    return Row(name, "recorded", "<= %d MB" % (TRACE_BYTES >> 20), got,
               OK if size <= TRACE_BYTES else FAIL), said


def compare(program, said):
    """The fixed variant gives the slow one's answers, sooner."""
    slow, fixed = (said.get("%s_%s" % (program.name, variant)) for variant in ("slow", "fixed"))
    if not slow or not fixed:
        return []
    rows = [Row(program.name, "fixed is faster", "< 1", fixed["ms_per_step"] / slow["ms_per_step"],
                OK if fixed["ms_per_step"] < slow["ms_per_step"] else FAIL)]
    if program.same_answers:
        same = fixed["digest"] == slow["digest"]
        rows.append(Row(program.name, "same answers", slow["digest"], fixed["digest"],
                        OK if same else FAIL))
    return rows


def chosen(words):
    """(program, variant) for names of programs, variants and recordings: in this order, once."""
    every = [(program, variant) for program in catalogue.programs() for variant in program.variants]
    runs = []
    for word in words:
        found = [(program, variant) for program, variant in every
                 if word in (program.name, variant, "%s_%s" % (program.name, variant))]
        if not found:
            raise ValueError(word)
        runs += [run for run in found if run not in runs]
    return runs


def to_keep(rows):
    """The names of what was recorded, most needed first: what failed cannot be had again."""
    there = [row for row in rows if row.verdict != SKIP]
    return [row.workload for row in sorted(there, key=lambda row: row.verdict != FAIL)]


def pack(folder, names, out, label="examples", most=None):
    """The files of each name, in that order; returns the names for which there was no room."""
    most = ARCHIVES if most is None else most
    archives, left_out = [], []
    for name in names:
        files = [file for file in sorted(os.listdir(folder)) if file.split(".")[0] == name]
        size = sum(os.path.getsize(os.path.join(folder, file)) for file in files)
        place = next((archive for archive in archives if archive[0] + size <= ARCHIVE_BYTES), None)
        if place is None and (len(archives) == most or size > ARCHIVE_BYTES):
            left_out.append(name)
            continue
        if place is None:
            place = [0, []]
            archives.append(place)
        place[0] += size
        place[1] += files
    os.makedirs(out, exist_ok=True)
    for number, (_, files) in enumerate(archives, 1):
        with tarfile.open(os.path.join(out, "%s-%d.tar" % (label, number)), "w") as tar:
            for file in files:
                tar.add(os.path.join(folder, file), file)
    return left_out


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default=os.environ.get("OUT", "."), help="where they are left")
    parser.add_argument("--budget", type=float, default=500, metavar="S",
                        help="begin nothing after so many seconds")
    parser.add_argument("--option", action="append", default=[], help="of inferscope run")
    parser.add_argument("--seconds", type=float, default=2.5, metavar="S", help="of requests")
    parser.add_argument("what", nargs="*", help="programs, variants (slow, fixed) or both: a_slow")
    args = parser.parse_args()
    try:
        runs = chosen(args.what or ["slow", "fixed"])
    except ValueError as error:
        parser.error("no program, variant or recording '%s'" % error)
    problem = kit.obstacle()
    begin = time.monotonic()
    rows, said = [], {}
    with tempfile.TemporaryDirectory(prefix="inferscope-examples-") as folder:
        for program, variant in runs:
            name = "%s_%s" % (program.name, variant)
            late = time.monotonic() - begin > args.budget
            if problem or late:
                rows.append(Row(name, "recorded", "", problem or "no time left", SKIP))
            else:
                command = program.command(variant, "--seconds", str(args.seconds))
                row, words = record(name, command, folder, args.option)
                rows.append(row)
                if words:
                    said[row.workload] = words
            kit.show(rows[-1:])
        comparisons = [row for program in catalogue.programs() for row in compare(program, said)]
        kit.show(comparisons)
        if not problem:
            for name in pack(folder, to_keep(rows), args.out):
                comparisons.append(Row(name, "packed", "", "no room", FAIL))
                kit.show(comparisons[-1:])
    rows += comparisons
    print("examples: " + kit.tally(rows))
    return kit.status(rows)


if __name__ == "__main__":
    sys.exit(main())
