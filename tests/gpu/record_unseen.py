"""Records the programs of tests/gpu/unseen, unseen2 to unseen4 and real, which were written without
knowledge of the analyzer's rules: one after the other, default settings.  Traces, reports and logs,
each compressed, are left in unseen-1.tar and unseen-2.tar.  SET_truth.json says what is slow in
each program: "finding", or one of "also"; null: nothing is.  What is true besides stands in "true";
where several verdicts are right, in "verdicts"; the author's reasons in "why"; what he had meant
otherwise before the recording, in "corrected".  Those of unseen2 to unseen4 have a fixed variant
(--fixed), which is recorded after the slow ones: NAME_slow and NAME_fixed.  The set "real" has
third-party libraries as their users call them: torchvision, transformers, JAX, CuPy.

    record_unseen.py --set unseen3 --seconds 2
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

SETS = ["unseen", "unseen2", "unseen3", "unseen4", "real"]
ARCHIVES = 4
SAID = re.compile(r"^steps=(\d+) ms_per_step=([\d.]+)$", re.MULTILINE)


def programs(name="unseen"):
    return catalogue.programs(os.path.join(kit.HERE, name), name + "_truth.json")


def runs(sets):
    """(name of the recording, its program, variant): of each set the slow ones first."""
    chosen = []
    for name in sets:
        if name == "unseen":  # these have no fixed variant
            chosen += [(program.name, program, "slow") for program in programs(name)]
            continue
        for variant in ("slow", "fixed"):
            chosen += [("%s_%s" % (program.name, variant), program, variant)
                       for program in programs(name) if variant in program.variants]
    return chosen


def said(stdout):
    """What a program's last line says; None where there is none."""
    words = catalogue.said(stdout)
    if words:
        return words
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
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=os.environ.get("OUT", "."), help="where they are left")
    parser.add_argument("--budget", type=float, default=300, metavar="S",
                        help="begin nothing after so many seconds")
    parser.add_argument("--option", action="append", default=[], help="of inferscope run")
    parser.add_argument("--seconds", type=float, default=3, metavar="S", help="of requests")
    parser.add_argument("--set", action="append", choices=SETS, help="of programs; default: all")
    parser.add_argument("what", nargs="*", help="programs or recordings; default: all")
    args = parser.parse_args()
    known = runs(args.set or SETS)
    words = {each for name, program, _ in known for each in (name, program.name)}
    for word in set(args.what) - words:
        parser.error("no program '%s'" % word)
    problem = kit.obstacle()
    begin = time.monotonic()
    rows = []
    with tempfile.TemporaryDirectory(prefix="inferscope-unseen-") as folder:
        for name, program, variant in known:
            if args.what and not {name, program.name} & set(args.what):
                continue
            late = time.monotonic() - begin > args.budget
            if problem or late:
                row = Row(name, "recorded", "", problem or "no time left", SKIP)
            else:
                command = program.command(variant, "--seconds", str(args.seconds))
                options = args.option + ["--report", os.path.join(folder, name + ".json")]
                row, _ = record_examples.record(name, command, folder, options, said)
                compress(folder, name)
            rows.append(row)
            kit.show([row])
            sys.stdout.flush()
        if not problem:
            names = record_examples.to_keep(rows)
            for name in record_examples.pack(folder, names, args.out, "unseen", ARCHIVES):
                rows.append(Row(name, "packed", "", "no room", FAIL))
                kit.show(rows[-1:])
    print("unseen: " + kit.tally(rows))
    return kit.status(rows)


if __name__ == "__main__":
    sys.exit(main())
