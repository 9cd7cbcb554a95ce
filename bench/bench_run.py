"""What a recording leaves on disk, and how long its report takes.

Size: bytes of the trace for each event, on the two examples.  Report: from the
last statement of a five-second workload to the end of `inferscope run`.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Five seconds of small calls: the most events a program can produce.  CLOCK_MONOTONIC is
# the same for all processes, so the end can be compared with ours.
CALL_HEAVY = """
import time
def leaf(x):
    return x + 1
def branch(x):
    return leaf(x) + leaf(x + 1)
end = time.monotonic() + 5
while time.monotonic() < end:
    for i in range(1000):
        branch(i)
open("end", "w").write(repr(time.clock_gettime(time.CLOCK_MONOTONIC)))
"""


def record(folder, *workload):
    """Records a workload in a folder; returns its report."""
    subprocess.run([os.environ["INFERSCOPE_BIN"], "run", "--quiet", "--python", sys.executable,
                    "--report", "report.json", "--report", "report.md", *workload], cwd=folder,
                   check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    with open(os.path.join(folder, "report.json"), encoding="utf-8") as file:
        return json.load(file)


def bytes_per_event(folder, report):
    size = os.path.getsize(os.path.join(folder, "inferscope-trace.isc"))
    return size / (report["trust"]["events"] - report["trust"]["dropped"])


def bench_size(name, script, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        report = record(folder, os.path.join(ROOT, "examples", script), *arguments)
        print("run.%s.events %d events" % (name, report["trust"]["events"]))
        print("run.%s.size %.2f bytes/event <= 6" % (name, bytes_per_event(folder, report)))


def bench_report_time():
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "call_heavy.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(CALL_HEAVY)
        report = record(folder, script)
        finished = time.clock_gettime(time.CLOCK_MONOTONIC)
        with open(os.path.join(folder, "end"), encoding="utf-8") as file:
            ended = float(file.read())
        print("run.calls.events %d events" % report["trust"]["events"])
        print("run.calls.lost %d events" % report["trust"]["dropped"])
        print("run.calls.size %.2f bytes/event" % bytes_per_event(folder, report))
        print("run.calls.report %.2f s <= 2" % (finished - ended))


def main():
    bench_size("asyncio", "asyncio_server.py", "--requests", "100")
    try:
        import torch  # noqa: F401
    except ImportError:
        print("# run.demo: left out, torch is not installed")
    else:
        bench_size("demo", "torch_cpu_inference.py")
    bench_report_time()


if __name__ == "__main__":
    main()
