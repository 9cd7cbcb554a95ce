"""Records small traces of real GPU work, to be kept in examples/traces: at most 2 MB each.

Python's calls are left out: importing torch alone has more of them than all the rest.
"""

import argparse
import os
import sys
import tempfile

import kit
from kit import FAIL, OK, SKIP, Row

LIMIT_BYTES = 2 << 20
TIMEOUT_S = 60

TRACES = {
    "gpt2_decode": ["gpt2_decode.py", "--layers", "6", "--tokens", "12", "--requests", "3"],
    "resnet50": ["resnet50.py", "--requests", "5"],
    "encoder": ["encoder.py", "--steps", "5"],
    "two_streams": ["two_streams.py"],
}


def record(name, command, folder):
    trace = os.path.join(folder, name + ".isc")
    done = kit.execute(kit.recorded([kit.script(command[0])] + command[1:], trace,
                                    os.path.join(folder, name + ".md"), ["--no-cpu"]),
                       TIMEOUT_S, cwd=folder)
    if done.status != 0:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        return Row(name, "recorded", "status 0", "status %s: %s" % (done.status, last), FAIL)
    size = os.path.getsize(trace)
    return Row(name, "bytes", "<= %d" % LIMIT_BYTES, size, OK if size <= LIMIT_BYTES else FAIL)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default=os.environ.get("OUT", "."), help="where they are left")
    args = parser.parse_args()
    problem = kit.obstacle()
    if problem:
        rows = [Row(name, "", "", problem, SKIP) for name in TRACES]
    else:
        with tempfile.TemporaryDirectory(prefix="inferscope-golden-") as folder:
            rows = [record(name, command, folder) for name, command in TRACES.items()]
            kit.pack(rows, folder, os.path.join(args.out, "golden.tar.gz"))
    kit.show(rows)
    print("golden: " + kit.tally(rows))
    return kit.status(rows)


if __name__ == "__main__":
    sys.exit(main())
