"""tests/unseen_cpu: its truth fits the programs, and its judge sees what is wrong."""

import ast
import os
import sys

import pytest

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "unseen_cpu")
sys.path.insert(0, FOLDER)
import record_cpu  # noqa: E402

PLACES = [place for truth in record_cpu.TRUTH.values()
          for place in truth.get("at", []) + truth.get("waits", [])]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: "%(file)s:%(function)s" % place)
def test_the_lines_of_the_truth_are_of_its_functions(place):
    with open(os.path.join(FOLDER, place["file"]), encoding="utf-8") as file:
        tree = ast.parse(file.read())
    assert any(node.lineno < place["lines"][0] <= place["lines"][1] <= node.end_lineno
               for node in ast.walk(tree)
               if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
               and node.name == place["function"])


def runs(slow_ms, fixed_ms, said="sung 1"):
    def ran(ms, text="sung 1"):
        return {"exit": 0, "output": "%s\n300 clips of %.2f ms: %.2f steps/s\n" % (
            text, ms, 1e3 / ms)}
    return {"pitch_track": {"plain": [ran(slow_ms)], "recorded": ran(slow_ms, said)},
            "pitch_track.fixed": {"plain": [ran(fixed_ms)], "recorded": ran(fixed_ms)}}


def report(identifier, line, confidence=0.9):
    return {"steps": [{"name": "classify", "source": "loop", "count": 300, "mean_ms": 10.0}],
            "verdict": {"bound": "cpu"}, "trust": {"overhead_share": 0.02},
            "findings": [{"id": identifier, "confidence": confidence, "step": "classify",
                          "saving_low_ms": 3.0, "saving_high_ms": 9.0,
                          "where": {"function": "autocorrelation", "file": "/a/pitch_track.py",
                                    "line": line}}]}


def test_what_is_right_is_called_so():
    row = record_cpu.judge("pitch_track", report("host-numpy", 32), runs(10, 5))
    assert row["id right"] and row["line right"] and row["verdict right"] and row["steps right"]
    assert row["saving inside"] and row["unchanged"] and not row["sure and wrong"]


def test_what_is_wrong_is_called_so():
    row = record_cpu.judge("pitch_track", report("io-wait", 40), runs(10, 9, "sung 2"))
    assert not row["id right"] and not row["line right"] and not row["saving inside"]
    assert not row["unchanged"] and row["sure and wrong"] == ["io-wait 0.90"]
    unsure = record_cpu.judge("pitch_track", report("io-wait", 40, 0.79), runs(10, 9))
    assert unsure["unchanged"] and not unsure["sure and wrong"]


def healthy_runs():
    ran = {"exit": 0, "output": "60 pages of 50.00 ms: 20.00 steps/s\n"}
    return {"scan_pages": {"plain": [ran], "recorded": ran}}


def test_of_healthy_programs_only_what_is_known_to_be_true_may_be_sure():
    row = record_cpu.judge("scan_pages", report("page-faults", 38), healthy_runs())
    assert row["id right"] and not row["sure and wrong"]
    row = record_cpu.judge("scan_pages", report("io-wait", 38), healthy_runs())
    assert not row["id right"] and row["sure and wrong"] == ["io-wait 0.90"]
