"""--verify-overhead: the workload again without recording, and what the difference was."""

import json
import re
import subprocess
import sys

import pytest

import isc_encode as isc

# Takes twice as long when it is recorded, and keeps a list of its runs.
PROGRAM = """
import os, sys, time
recorded = "INFERSCOPE_SESSION" in os.environ
text = sys.stdin.read() if "read" in sys.argv else ""
with open("runs", "a") as file:
    file.write("%s %s\\n" % ("recorded" if recorded else "plain", text))
print("to stdout")
print("to stderr", file=sys.stderr)
time.sleep(float(sys.argv[1]) * (1 + recorded))
if "fail" in sys.argv:
    sys.exit(3 if recorded else 4)
sys.exit(7)
"""


@pytest.fixture
def verify(inferscope, work):
    def run(*args, options=(), status=7, **more):
        (work / "program.py").write_text(PROGRAM)
        done = inferscope("run", "--quiet", "--verify-overhead", "--report", "r.json", "--trace",
                          "t.isc", *options, "--python", sys.executable, "program.py", *args,
                          **more)
        assert (done.returncode, done.stdout) == (status, "to stdout\n")
        assert done.stderr.count("to stderr") == 1
        report = json.loads((work / "r.json").read_text())
        return report["trust"], (work / "runs").read_text().split("\n")[:-1]
    return run


@pytest.mark.measures
def test_a_short_program_is_run_in_five_pairs(verify):
    trust, runs = verify("0.2")
    assert "".join(run[0] for run in runs) == "rp" "pr" "rp" "pr" "rp"
    assert trust["verified_pairs"] == 5
    assert 1.3 < trust["verified_ratio"] < 2.2
    assert trust["verified_low"] <= trust["verified_ratio"] <= trust["verified_high"]
    said = re.search(r"took ([0-9.]+) times as long as without", trust["notes"][0])
    assert float(said.group(1)) == pytest.approx(trust["verified_ratio"], abs=0.001)


@pytest.mark.measures
def test_a_long_one_once(verify, work):
    trust, runs = verify("1.05")
    assert [run.strip() for run in runs] == ["recorded", "plain"]
    assert trust["verified_pairs"] == 1 and 1.5 < trust["verified_ratio"] < 2.1
    report = json.loads((work / "r.json").read_text())
    assert report["run"]["wall_ms"] < 3100, "the second run is not part of the recording"


def test_a_file_is_read_again(verify, work):
    (work / "input").write_text("header and text")
    with open(work / "input") as file:
        file.seek(7)
        _, runs = verify("0.01", "read", stdin=file)
    assert {run.split(" ", 1)[1] for run in runs} == {"and text"} and len(runs) == 10


def test_a_pipe_cannot_be_and_that_is_said(verify):
    with subprocess.Popen(["echo", "once"], stdout=subprocess.PIPE) as echo:
        trust, runs = verify("0.01", "read", stdin=echo.stdout)
    assert runs[0] == "recorded once"
    assert any("cannot be read twice" in note for note in trust["notes"])


@pytest.mark.parametrize("options, status", [((), 3), (("--strict",), 4)])
def test_runs_that_end_differently_are_not_compared(verify, options, status):
    trust, runs = verify("0.01", "fail", options=options, status=status)
    assert len(runs) == 2 and trust["verified_ratio"] is None
    assert ("the overhead was not verified: when run again without recording, the workload exited "
            "with status 4, not 3") in trust["notes"]


def test_the_trace_tells_the_same(verify, inferscope, work):
    verify("0.01")
    inferscope("analyze", "t.isc", "--report", "again.json", "--quiet")
    assert (work / "again.json").read_text() == (work / "r.json").read_text()


def test_without_it_nothing_is_run_again(inferscope, work):
    (work / "program.py").write_text(PROGRAM)
    inferscope("run", "--quiet", "--report", "r.json", "--python", sys.executable, "program.py",
               "0")
    assert (work / "runs").read_text() == "recorded \n"
    assert json.loads((work / "r.json").read_text())["trust"]["verified_ratio"] is None


def test_not_with_a_duration(refused, work):
    (work / "program.py").write_text("")
    assert "combined with --duration" in refused("run", "--verify-overhead", "--duration", "1",
                                           "program.py")


@pytest.mark.parametrize("recorded, plain, ratio, pairs", [
    (["30", "33", "90"], ["30", "30", "30"], 1.1, 3),
    (["30", "33"], ["30"], 1.0, 1),
    (["nan"], ["30"], None, None), (["30"], ["0"], None, None), (["-3"], ["-1"], None, None),
    (["1e300"], ["1e-300"], None, None), (["thirty"], ["1"], None, None), ([], ["30"], None, None),
    (["30"] * 1000, ["20"] * 1000, 1.5, 64),
])
def test_what_a_file_says(inferscope, work, recorded, plain, ratio, pairs):
    (work / "t.isc").write_bytes(b"".join([
        isc.header(), *[isc.info("verify.recorded_ms", text) for text in recorded],
        *[isc.info("verify.plain_ms", text) for text in plain], isc.end(1000)]))
    done = inferscope("analyze", "t.isc", "--report", "r.json", "--quiet")
    assert done.returncode == 0, done.stderr
    trust = json.loads((work / "r.json").read_text())["trust"]
    assert (trust["verified_ratio"], trust.get("verified_pairs")) == (ratio, pairs)
