"""The tools that people install beside us: equal results with and without recording.

Each tool comes from PyPI into a folder of its own for each interpreter; where that fails, the
test is skipped and says why.  Three things are held for each of them: what the tool finds and
what the program says is the same, calls outside the tool's time are recorded, and where the tool
owns the one profile function that a thread has before 3.12, the report tells what is missing.
"""

import json
import re
import subprocess
from collections import Counter

import pytest

from dap_client import Client

pytestmark = pytest.mark.long

BEFORE, LEAVES, AFTER = 10, 30, 1000

# everything() calls leaf() LEAVES times: 20 in the main thread, 10 in another.
WORK = """
import sys, threading

def leaf(n):
    if n % 2:
        n += 1
    return n

def work(rounds):
    total = 0
    for i in range(rounds):
        total += leaf(i)
    return total

def generate():
    yield work(5)
    yield work(5)

class Thing:
    def method(self):
        return sorted([3, 1, 2], key=lambda n: -n)

def in_thread():
    seen.append(work(10))

def fails():
    if len(seen) > 5:
        return "never"
    raise KeyError("missing")

def everything():
    seen.append(work(10))
    seen.extend(generate())
    seen.append(Thing().method())
    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    try:
        fails()
    except KeyError as error:
        seen.append(repr(error))

def before(): pass
def after(): pass

seen, BEFORE, AFTER = [], 10, 1000
for _ in range(BEFORE):
    before()
#TOOL
for _ in range(AFTER):
    after()
print(seen)
"""

def line_of(text):
    return WORK.splitlines().index(text) + 1


COVERAGE = """
import coverage, os
path = os.path.abspath(__file__)
cov = coverage.Coverage(branch=BRANCH, data_file=None, config_file=False)
cov.start()
everything()
cov.stop()
data = cov.get_data()
print(dict(cov.sys_info())["core"], sorted(data.lines(path)), sorted(data.arcs(path) or ()))
"""

VIZTRACER = """
import viztracer
tracer = viztracer.VizTracer(verbose=0)
for _ in range(2):  # on and off again
    tracer.start()
    everything()
    tracer.stop()
tracer.save("viz.json")
"""

LINE_PROFILER = """
import line_profiler
profiler = line_profiler.LineProfiler(leaf, work, generate, everything)
for _ in range(2):  # on and off again
    profiler.enable_by_count()
    work(5)
    profiler.disable_by_count()
profiler.runcall(everything)
print(sorted((key[1:], [(line, hits) for line, hits, _ in rows])
             for key, rows in profiler.get_stats().timings.items()))
"""

DEBUGPY = """
import debugpy
print(debugpy.listen(("127.0.0.1", 0))[1], flush=True)
debugpy.wait_for_client()
everything()
"""


@pytest.fixture(scope="session")
def install(tmp_path_factory):
    """The folder with a package, for one interpreter; the test is skipped where pip fails."""
    tried = {}

    def get(python, package):
        if (python, package) not in tried:
            folder = tmp_path_factory.mktemp(package)
            done = subprocess.run(
                [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-input",
                 "--only-binary", ":all:", "--target", str(folder), package],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
            lines = done.stdout.strip().splitlines() or ["no reason given"]
            tried[python, package] = folder, lines[-1] if done.returncode else None
        folder, failure = tried[python, package]
        if failure:
            pytest.skip("pip cannot get %s for %s: %s" % (package, python, failure))
        return folder
    return get


class Both:
    """A command alone and recorded; `recorded` keeps what the second left."""

    def __init__(self, binary, work, env, read_trace):
        self.binary, self.work, self.env, self.read_trace = binary, work, env, read_trace
        self.path = str(work / "program.py")

    def write(self, tool):
        with open(self.path, "w") as file:
            file.write(WORK.replace("#TOOL", tool))

    def commands(self, *command):
        yield list(command)
        yield [self.binary, "run", "--quiet", "--report", "r.json", "--trace", "t.isc", "--",
               *command]

    def run(self, *command, result=lambda: None):
        """Both must end well and say the same, and so must `result`, called after each."""
        outcomes = []
        for one in self.commands(*command):
            done = subprocess.run(one, cwd=str(self.work), env=self.env, timeout=300,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, universal_newlines=True)
            outcomes.append((done.returncode, done.stdout, done.stderr, result()))
        alone, recorded = outcomes
        assert alone[0] == 0, alone[2]
        assert recorded == alone
        return alone[1], alone[3]

    def recording(self):
        """The trace, and what its report says of other tools."""
        report = json.loads((self.work / "r.json").read_text())
        recording = self.read_trace("t.isc")
        assert recording.head["damage"] is None and recording.head["exit_status"] == 0
        assert [thread["lost"] for thread in recording.threads] == [0] * len(recording.threads)
        return recording, [note for note in report["trust"]["notes"] if "another tool" in note]


@pytest.fixture
def both(binary, work, clean_env, read_trace, install, python):
    def make(package, tool, **env):
        path = {"PYTHONPATH": str(install(python, package))}
        made = Both(binary, work, {**clean_env, **path, **env}, read_trace)
        made.write(tool)
        return made
    return make


def counts(recording):
    return [len(recording.calls(name)) for name in ("before", "leaf", "after")]


def assert_all_recorded(both, leaves=LEAVES):
    recording, notes = both.recording()
    assert counts(recording) == [BEFORE, leaves, AFTER]
    assert not notes and not recording.head["notes"]


# What COVERAGE_CORE asks for: what it is called then, whether it measures branches everywhere.
CORES = {"ctrace": ("CTracer", True), "pytrace": ("PyTracer", True),
         "sysmon": ("SysMonitor", False)}


@pytest.mark.parametrize("core", CORES)
def test_coverage_covers_the_same(both, python, version, core):
    if core == "sysmon" and version < (3, 12):
        pytest.skip("sys.monitoring is new in 3.12")
    name, branch = CORES[core]
    one = both("coverage", COVERAGE.replace("BRANCH", str(branch)), COVERAGE_CORE=core)
    said, _ = one.run(python, "program.py")
    assert said.startswith(name)
    assert_all_recorded(one)


def test_a_whole_program_under_coverage(both, python):
    one = both("coverage", "everything()")

    def result():
        shown = subprocess.run([python, "-m", "coverage", "json", "-q", "-o", "-"],
                               cwd=str(one.work), env=one.env, stdout=subprocess.PIPE,
                               universal_newlines=True, check=True)
        return json.loads(shown.stdout)["files"]

    _, files = one.run(python, "-m", "coverage", "run", "--branch", "program.py", result=result)
    found = files["program.py"]
    assert found["missing_lines"] == [line_of('        return "never"')]
    assert len(found["executed_branches"]) > 5
    assert_all_recorded(one)


def viztracer_names(work):
    """How often VizTracer saw what."""
    events = json.loads((work / "viz.json").read_text())["traceEvents"]
    (work / "viz.json").unlink()
    return Counter(event["name"] for event in events if event["ph"] == "X")


def assert_told(notes):
    """The report says once for how long a tool had the calls and which function let it."""
    note, = notes
    assert re.search(r"not recorded for [\d.]+ s in total, in \d+ stretch.*replaced in "
                     r"\S+ \(.*/viztracer/\w+\.py\)$", note)


def test_viztracer_sees_the_same(both, python, version):
    one = both("viztracer", VIZTRACER)
    _, names = one.run(python, "program.py", result=lambda: viztracer_names(one.work))
    leaves, = (count for name, count in names.items() if name.startswith("leaf "))
    assert leaves == 2 * LEAVES
    if version >= (3, 12):
        return assert_all_recorded(one, leaves)
    recording, notes = one.recording()
    early, during, late = counts(recording)
    # The interpreter calls us at its next opportunity, at the latest in the first call.
    assert early == BEFORE and during == 0 and AFTER - 1 <= late <= AFTER
    assert_told(notes)


def test_a_whole_program_under_viztracer(both, python, version):
    one = both("viztracer", "everything()")
    _, names = one.run(python, "-m", "viztracer", "--quiet", "-o", "viz.json", "program.py",
                       result=lambda: viztracer_names(one.work))
    assert sum(count for name, count in names.items() if name.startswith("leaf ")) == LEAVES
    if version >= (3, 12):
        return assert_all_recorded(one)
    recording, notes = one.recording()
    assert counts(recording) == [0, 0, 0]
    assert_told(notes)


def test_line_profiler_counts_the_same(both, python):
    one = both("line_profiler", LINE_PROFILER)
    said, _ = one.run(python, "program.py")
    assert "'leaf'" in said
    assert_all_recorded(one, LEAVES + 10)


# In generate() and in in_thread().
BREAKPOINTS = line_of("    yield work(5)"), line_of("    seen.append(work(10))")


def debug(command, one):
    """A session of an editor with the program; what it was shown and how the program ended."""
    program = subprocess.Popen(command, cwd=str(one.work), env=one.env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               universal_newlines=True)
    try:
        client = Client(int(program.stdout.readline()))
        shown = [client.attach(one.path, BREAKPOINTS)]
        steps = iter(["stepIn", "next", "next", "stepIn", "next", "stepOut", "continue", "stepIn"])
        for thread, *stop in iter(lambda: client.stop(["len(seen)", "[n * 2 for n in (1, 2)]"]),
                                  None):
            then = next(steps, "continue")
            shown.append((then, *stop))
            client.ask(then, threadId=thread)
        client.close()
        said = program.communicate(timeout=60)
        return shown, program.returncode, said
    finally:
        program.kill()
        program.wait()


def test_debugpy_stops_and_shows_the_same(both, python):
    # Its warning of frozen modules, from 3.11 on, tells times, which are never equal.
    one = both("debugpy", DEBUGPY, PYDEVD_DISABLE_FILE_VALIDATION="1")
    alone, recorded = (debug(command, one) for command in one.commands(python, "program.py"))
    shown, status, _ = alone
    assert status == 0 and [line for _, line in shown[0]] == list(BREAKPOINTS)
    # It stops in the main thread and in the other one, and the steps lead into leaf() and out.
    where = [frames[0][0] for _, _, frames, _ in shown[1:]]
    assert where[:2] == ["generate", "work"] and "leaf" in where and "in_thread" in where
    assert any(values.get("n") == "0" for _, _, _, values in shown[1:])
    assert recorded == alone
    assert_all_recorded(one)
