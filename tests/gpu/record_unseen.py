"""Records the programs of tests/gpu/unseen, which were written without knowledge of the analyzer's
rules: one after the other, default settings.  Traces, reports and logs, each compressed, are left
in unseen-1.tar and unseen-2.tar.  unseen_truth.json says what is slow in each: "finding", or one of
"also"; null: nothing is.

    record_unseen.py
    record_unseen.py --budget 200 thumbnails speech_rnn
"""

import argparse
import gzip
import os
import re
import shutil
import sys
import tempfile
import time

import kit
import record_examples
from kit import FAIL, SKIP, Row
from record_examples import catalogue

UNSEEN = os.path.join(kit.HERE, "unseen")
ARCHIVES = 2
SAID = re.compile(r"^steps=(\d+) ms_per_step=([\d.]+)$", re.MULTILINE)


def programs():
    return catalogue.programs(UNSEEN, "unseen_truth.json")


def said(stdout):
    """What a program's last line says; None where there is none."""
    found = SAID.findall(stdout)
    return {"steps": int(found[-1][0]), "ms_per_step": float(found[-1][1])} if found else None


def compress(folder, name):
    """The files of a recording, each in place of its plain form."""
    for file in os.listdir(folder):
        path = os.path.join(folder, file)
        if file.split(".")[0] == name and os.path.isfile(path):
            with open(path, "rb") as plain, gzip.open(path + ".gz", "wb") as packed:
                shutil.copyfileobj(plain, packed)
            os.remove(path)


def main():
    known = programs()
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=os.environ.get("OUT", "."), help="where they are left")
    parser.add_argument("--budget", type=float, default=300, metavar="S",
                        help="begin nothing after so many seconds")
    parser.add_argument("--option", action="append", default=[], help="of inferscope run")
    parser.add_argument("--seconds", type=float, default=3, metavar="S", help="of requests")
    parser.add_argument("what", nargs="*", help="programs; default: all")
    args = parser.parse_args()
    for word in set(args.what) - {program.name for program in known}:
        parser.error("no program '%s'" % word)
    problem = kit.obstacle()
    begin = time.monotonic()
    rows = []
    with tempfile.TemporaryDirectory(prefix="inferscope-unseen-") as folder:
        for program in known:
            if args.what and program.name not in args.what:
                continue
            late = time.monotonic() - begin > args.budget
            if problem or late:
                row = Row(program.name, "recorded", "", problem or "no time left", SKIP)
            else:
                command = [program.path, "--seconds", str(args.seconds)]
                row, _ = record_examples.record(program.name, command, folder, args.option, said)
                compress(folder, program.name)
            rows.append(row)
            kit.show([row])
            sys.stdout.flush()
        if not problem:
            names = [row.workload for row in rows if row.verdict != SKIP]
            for name in record_examples.pack(folder, names, args.out, "unseen", ARCHIVES):
                rows.append(Row(name, "packed", "", "no room", FAIL))
                kit.show(rows[-1:])
    print("unseen: " + kit.tally(rows))
    return kit.status(rows)


if __name__ == "__main__":
    sys.exit(main())
