"""Programs of examples/bottlenecks, recorded on the CPU: the first finding is the planted one.

Every call is recorded, because before 3.12 a budget leaves too few of PyTorch's to find steps.
What they are like on a GPU is judged from recordings: docs/ACCURACY.md.
"""

import contextlib
import json
import os
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                                "examples", "bottlenecks"))
import catalogue  # noqa: E402

PROGRAMS = {program.name: program for program in catalogue.programs()}
NAMES = ["python_preprocessing", "host_numpy", "gil_fight", "dataloader_wait", "gc_pauses",
         "held_lock", "recompile"]


@pytest.fixture
def findings(inferscope, work):
    pytest.importorskip("torch")

    def run(program, *arguments):
        done = inferscope("run", "--quiet", "--max-overhead", "100", "--python", sys.executable,
                          "--report", "r.json",
                          *program.command("slow", "--device", "cpu", "--seconds", "1", *arguments),
                          timeout=120)
        assert (done.returncode, done.stderr) == (0, "")
        assert catalogue.said(done.stdout)["program"] == program.name
        return json.loads((work / "r.json").read_text())["findings"]
    return run


@pytest.mark.measures  # where something else has the machine, that is what is wrong
@pytest.mark.parametrize("name", NAMES)
def test_the_first_finding_is_what_is_wrong(findings, name):
    program = PROGRAMS[name]
    first = findings(program)[0]
    assert first["id"] == program.finding
    function, _ = program.here(first["where"])
    assert function, first["where"]
    assert len(first["suggestions"]) >= 3


@pytest.mark.measures
def test_a_server_without_load_has_no_findings(findings):
    assert findings(PROGRAMS["healthy_low_traffic"]) == []


@contextlib.contextmanager
def busy_machine():
    """More programs that only compute than there are CPUs."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
              for _ in range(len(os.sched_getaffinity(0)) + 1)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


@pytest.mark.measures  # it takes the machine from the others
def test_it_has_none_that_is_sure_where_others_have_the_cpus(findings):
    """Who is woken waits for a CPU then: that is no time that was let pass."""
    with busy_machine():
        found = findings(PROGRAMS["healthy_low_traffic"])
    assert [finding["id"] for finding in found if finding["confidence"] >= 0.8] == []
