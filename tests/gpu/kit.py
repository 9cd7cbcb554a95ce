"""What the GPU checks and benchmarks share: finding the parts, running workloads, result tables."""

import ctypes
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from collections import namedtuple

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
WORKLOADS = os.path.join(HERE, "workloads")
DEFAULT_BINARY = os.path.join(ROOT, "build-gpu", "stage", "bin", "inferscope")

WIDTH = 24  # of a value in the table: the whole of it must fit 12,000 characters
OK, FAIL, SKIP = "OK", "FAIL", "SKIP"
NOTHING = 77  # exit status: all was skipped

Row = namedtuple("Row", "workload check expected got verdict")
# `killed`: the command itself died of a signal; one that runs another says what that died of.
Run = namedtuple("Run", "status stdout stderr seconds end_s killed", defaults=(False,))


def binary():
    return os.path.abspath(os.environ.get("INFERSCOPE_BIN", DEFAULT_BINARY))


def package(program=None):
    """The folder from which the workloads import inferscope when nothing records them, or another
    program than ours does."""
    stage = os.path.dirname(os.path.dirname(program or binary()))
    return os.path.join(stage, "lib", "inferscope", "python")


def obstacle(gpu=True):
    """Why nothing can be checked here, with a GPU or without; None: it can."""
    if not os.access(binary(), os.X_OK):
        return "no program at %s (make stage-gpu)" % binary()
    if not gpu:
        return None
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "no CUDA driver"
    status = driver.cuInit(0)
    if status:
        return "cuInit: error %d" % status
    count = ctypes.c_int()
    driver.cuDeviceGetCount(ctypes.byref(count))
    return None if count.value else "no CUDA device"


def missing(modules):
    """Of the modules, those that this Python cannot import; none of them is loaded."""
    import importlib.util

    return [name for name in modules if importlib.util.find_spec(name) is None]


def environment(program=None, **more):
    """Ours without the developer's settings, but for the choice of a libcupti; the package can
    be imported."""
    env = {name: value for name, value in os.environ.items()
           if not name.startswith("INFERSCOPE_") or name == "INFERSCOPE_CUPTI"}
    path = os.environ.get("PYTHONPATH")
    env.update(PYTHONPATH=package(program) + (os.pathsep + path if path else ""), **more)
    return env


def shell_status(returncode):
    """As a shell says it: 128 + signal for a process that was killed."""
    return 128 - returncode if returncode < 0 else returncode


def execute(arguments, timeout, cwd=None, env=None):
    """Runs to the end, or to the timeout: everything it started is killed, its status is None."""
    start = time.monotonic()
    process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, universal_newlines=True, errors="replace",
                               cwd=cwd, env=env or environment(), start_new_session=True)
    try:
        stdout, stderr = process.communicate(timeout=timeout)
        status = shell_status(process.returncode)
        killed = process.returncode < 0
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        stdout, stderr = process.communicate()
        status, killed = None, False
    end = time.monotonic()
    return Run(status, stdout, stderr, end - start, end, killed)


def truth_of(stdout):
    """The facts in the last JSON line that names its workload; None where there is none."""
    for line in reversed(stdout.splitlines()):
        if line.startswith("{"):
            try:
                facts = json.loads(line)
            except ValueError:
                continue
            if isinstance(facts, dict) and "workload" in facts:
                return facts
    return None


def script(name):
    return os.path.join(WORKLOADS, name)


def plain(command):
    """Argument vector that runs a workload, a script or a program, without recording."""
    return [sys.executable] + command if command[0].endswith(".py") else command


WHOLE = ("--max-overhead", "100")  # the whole GPU timeline, whatever it costs


def recorded(command, trace, report, options=(), budget=WHOLE, program=None):
    """Argument vector that runs it recorded, by another inferscope than ours if need be."""
    target = command if command[0].endswith(".py") else ["--"] + command
    return [program or binary(), "run", "--quiet", "--python", sys.executable, "--trace", trace,
            "--report", report] + list(budget) + list(options) + target


def build_native(folder, source="native.cu"):
    """(path, None) of the CUDA C program, built there, or (None, why not)."""
    path = os.path.join(folder, os.path.splitext(source)[0])
    try:
        done = subprocess.run(["nvcc", "-O2", "-arch=native", "-o", path, script(source)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
                              universal_newlines=True)
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, "nvcc: %s" % error
    if done.returncode:
        return None, "nvcc failed: %s" % done.stdout.strip().splitlines()[-1:]
    return path, None


def brief(value, width):
    text = "%.5g" % value if isinstance(value, float) else str(value)
    return text if len(text) <= width else text[:width - 3] + "..."


def line_of(row):
    """What failed is told at more length."""
    width = WIDTH if row.verdict == OK else 4 * WIDTH
    return "%-15s %-23s %-*s %-*s %s" % (row.workload, row.check, WIDTH, brief(row.expected, width),
                                         WIDTH, brief(row.got, width), row.verdict)


def show(rows, file=None):
    for row in rows:
        print(line_of(row).rstrip(), file=file)


def tally(rows):
    """"3 failed, 40 passed, 2 skipped"."""
    counts = [(sum(row.verdict == verdict for row in rows), word)
              for verdict, word in ((FAIL, "failed"), (OK, "passed"), (SKIP, "skipped"))]
    return ", ".join("%d %s" % pair for pair in counts)


def status(rows):
    """Of a program with these results; NOTHING where none of them says anything."""
    verdicts = {row.verdict for row in rows}
    return 1 if FAIL in verdicts else 0 if OK in verdicts else NOTHING


def pack(rows, folder, path, keep=None):
    """The table and the files of a folder in one archive: few files come back from elsewhere."""
    with open(os.path.join(folder, "table.json"), "w", encoding="utf-8") as file:
        json.dump([row._asdict() for row in rows], file, indent=0, default=str)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with tarfile.open(path, "w:gz") as tar:
        for name in sorted(os.listdir(folder)):
            if keep is None or keep(name):
                tar.add(os.path.join(folder, name), name)
