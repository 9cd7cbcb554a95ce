"""Records small programs on the CPythons of INFERSCOPE_PYTHONS and reads back what was recorded."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

from gpu_double import doubles, gpu_env, record_gpu, torch_profiler  # noqa: F401, the fixtures

PYTHONS = os.environ.get("INFERSCOPE_PYTHONS", sys.executable).split(":")
NUMBER_OF = {}


def version_of(python):
    """(3, 12) of an interpreter's path."""
    if python not in NUMBER_OF:
        text = subprocess.check_output(
            [python, "-c", "import sys; print(*sys.version_info[:2])"], universal_newlines=True)
        NUMBER_OF[python] = tuple(map(int, text.split()))
    return NUMBER_OF[python]


def pytest_generate_tests(metafunc):
    """A test that takes `python` runs on every interpreter of INFERSCOPE_PYTHONS."""
    if "python" in metafunc.fixturenames:
        ordered = sorted(PYTHONS, key=version_of)
        metafunc.parametrize("python", ordered, scope="session",
                             ids=["py%d.%d" % version_of(python) for python in ordered])


@pytest.fixture
def clean_env(clean_env):
    """
    Every call is recorded: these tests count them, and the default leaves out what would cost
    more than the budget.  What the budget does has tests of its own.
    """
    return {**clean_env, "INFERSCOPE_CPU": "trace"}


@pytest.fixture
def version(python):
    return version_of(python)


@pytest.fixture(scope="session")
def pythons():
    """All of them, for tests that take turns."""
    return sorted(PYTHONS, key=version_of)


@pytest.fixture(scope="session")
def python_with():
    """An interpreter that has a package of others; the test is skipped where there is none."""
    def find(module):
        for python in [sys.executable, *PYTHONS]:
            if not subprocess.run([python, "-c", "import " + module],
                                  stderr=subprocess.DEVNULL).returncode:
                return python
        pytest.skip("%s is not installed for any of the interpreters" % module)
    return find


@pytest.fixture
def write(work):
    """Writes a program into the working directory; returns its path."""
    def write(text, name="program.py"):
        path = work / name
        path.write_text(textwrap.dedent(text))
        return path
    return write


@pytest.fixture(scope="session")
def package(binary):
    """Where the package of the program under test is."""
    return os.path.join(os.path.dirname(os.path.dirname(binary)), "lib", "inferscope", "python")


@pytest.fixture
def plain(clean_env, work, package):
    """Runs a program that can import inferscope, without `inferscope run`."""
    def run(python, *args, env=None, **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        more.setdefault("timeout", 240)
        return subprocess.run([python] + [str(arg) for arg in args], cwd=str(work),
                              env={**clean_env, "PYTHONPATH": package, **(env or {})},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, **more)
    return run


class Recording:
    """A trace as `inferscope export --to json` tells it."""

    def __init__(self, export, done=None, program=None):
        self.done = done
        self.program = program
        self.head = export["inferscope"]
        self.events = export["events"]
        self.processes = self.head["processes"]
        self.threads = self.head["threads"]

    def of(self, kind, name=None):
        return [event for event in self.events if event["event_type"] == kind
                and (name is None or event["name"] == name)]

    def functions(self, name=None):
        """The pieces of the program's own functions, in order of their start."""
        found = [event for event in self.of("cpu_function", name)
                 if os.path.basename(event["file"]) == self.program]
        return sorted(found, key=lambda event: event["start_us"])

    def calls(self, name):
        return [event for event in self.functions(name) if "resumed" not in event]

    def resumptions(self, name):
        return [event for event in self.functions(name) if "resumed" in event]

    def scopes(self, name=None):
        """[(enter, exit)]: every scope has both."""
        enters = self.of("scope_enter", name)
        exits = {(event["pid"], event["instance"]): event for event in self.of("scope_exit", name)}
        assert len(exits) == len(self.of("scope_exit", name)), "one instance ended twice"
        assert {(e["pid"], e["instance"]) for e in enters} == exits.keys()
        return [(enter, exits[enter["pid"], enter["instance"]]) for enter in enters]


@pytest.fixture
def read_trace(inferscope, work):
    def read(trace, done=None, program="program.py"):
        shown = inferscope("export", trace, "--to", "json", "-o", "-")
        assert (shown.returncode, shown.stderr) == (0, "")
        return Recording(json.loads(shown.stdout), done, program)
    return read


@pytest.fixture
def record(inferscope, write, read_trace):
    """Records the text of a program; it must end with `status` and say nothing it was not told."""
    def run(python, text, *args, status=0, stderr="", notes=0, **more):
        path = write(text)
        done = inferscope("run", "--quiet", "--python", python, "--report", "r.json",
                          "--trace", "t.isc", path, *args, **more)
        assert done.returncode == status, done.stderr
        if stderr is not None:
            assert done.stderr == stderr
        recording = read_trace("t.isc", done)
        assert recording.head["damage"] is None
        if notes is not None:
            assert len(recording.head["notes"]) == notes, recording.head["notes"]
        assert recording.head["exit_status"] == status
        assert [thread["lost"] for thread in recording.threads] == [0] * len(recording.threads)
        return recording
    return run


@pytest.fixture
def report(work):
    """The report that `record` left."""
    return lambda: json.loads((work / "r.json").read_text())
