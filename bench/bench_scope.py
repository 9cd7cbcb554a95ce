"""What `with scope("x"):` costs, against an empty context manager written in C, in one process.

Without a recording and inside one, on every CPython that INFERSCOPE_PYTHONS names (else this one).
"""

import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))

MEASURE = """
import sys
sys.path[:0] = sys.argv[1:4]
from empty_context import Empty
from inferscope import is_recording, scope
import paired

def empty():
    for _ in range(20000):
        with Empty():
            pass

def scoped():
    for _ in range(20000):
        with scope("x"):
            pass

ratio = paired.summarize(paired.measure(empty, scoped, pairs=41))
print("%s %.2f %.2f %.2f" % (is_recording(), ratio.median, ratio.low, ratio.high), flush=True)
"""


def measure(python, recorded):
    binary = os.environ["INFERSCOPE_BIN"]
    package = os.path.join(os.path.dirname(os.path.dirname(binary)), "lib", "inferscope", "python")
    build = os.path.dirname(os.path.dirname(os.path.dirname(binary)))
    command = [python, "-c", MEASURE, package, os.path.join(build, "bench"), HERE]
    with tempfile.TemporaryDirectory() as folder:
        if recorded:
            command = [binary, "run", "--quiet", "--report", "report.json", "--", *command]
        result = subprocess.run(command, stdout=subprocess.PIPE, check=True, cwd=folder, text=True)
    was_recording, median, low, high = result.stdout.split()
    if (was_recording == "True") != recorded:
        raise SystemExit("the measurement was not made as meant: %s" % result.stdout)
    return median, low, high


def main():
    pythons = [p for p in os.environ.get("INFERSCOPE_PYTHONS", "").split(":") if p]
    for python in pythons or [sys.executable]:
        version = subprocess.run(
            [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
            stdout=subprocess.PIPE, check=True, text=True).stdout.strip()
        for recorded, name, goal in ((False, "idle", "1.3"), (True, "recording", "3")):
            median, low, high = measure(python, recorded)
            print("scope.%s.%s %s x <= %s" % (name, version, median, goal))
            print("# scope.%s.%s: 95 %% interval %s .. %s" % (name, version, low, high))


main()
