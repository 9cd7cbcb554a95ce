"""A few quick modules of CPython's test suite under recording; `make test-cpython` runs all."""

import os
import sys

import pytest

import run_suite
from expected_differences import Difference

MODULES = ["test_generators", "test_coroutines", "test_asyncgen", "test_contextlib",
           "test_sys_setprofile", "test_thread"]
PATHS = os.environ.get("INFERSCOPE_PYTHONS", sys.executable).split(":")


@pytest.mark.parametrize("path", PATHS)
def test_same_outcomes_with_and_without_recording(path, tmp_path):
    python = run_suite.probe(path)
    if python is None:
        pytest.skip("%s has no test suite" % path)
    verdicts = list(run_suite.run([python], MODULES, run_suite.binary(), str(tmp_path), jobs=2))
    assert len(verdicts) == len(MODULES)
    assert all(verdict.good for verdict in verdicts), "\n".join(map(str, verdicts))


FAKE = run_suite.Python("python", "3.0", ["test_x"])


@pytest.fixture
def verdict(monkeypatch):
    """The verdict on runs whose outcomes are told: alone, recorded, alone again, ..."""
    def judge(*runs, expected=()):
        told = iter(runs)
        rows = [Difference(("3.0",), "test_x", test, "") for test in expected]
        monkeypatch.setattr(run_suite, "EXPECTED", rows)
        monkeypatch.setattr(run_suite, "run_once", lambda *_: run_suite.Run(
            {run_suite.WHOLE: "exit 0", **next(told)}, "log", 1.0))
        return run_suite.Verdict(FAKE, "test_x", "inferscope", "keep")
    return judge


def test_equal_outcomes_are_good_even_where_a_test_fails(verdict):
    assert verdict({"a": "ok", "b": "FAIL"}, {"a": "ok", "b": "FAIL"}).good


def test_differences_in_either_direction_are_found(verdict):
    alone, recorded = {"a": "ok", "b": "ok", "c": "ok"}, {"a": "ok", "b": "FAIL", "d": "ok"}
    judged = verdict(alone, recorded, alone, recorded)
    assert not judged.good
    assert judged.new == {"b": ("ok", "FAIL"), "c": ("ok", "absent"), "d": ("absent", "ok")}


def test_what_differs_only_once_is_unsteady(verdict):
    judged = verdict({"a": "ok"}, {"a": "FAIL"}, {"a": "ok"}, {"a": "ok"})
    assert judged.good
    assert judged.unsteady == {"a": ("ok", "FAIL")}


def test_a_crash_is_not_tried_again(verdict):
    assert not verdict({"a": "ok"}, {"a": "unfinished", run_suite.WHOLE: "killed by SIGSEGV"}).good


def test_a_listed_difference_must_occur(verdict):
    assert verdict({"a": "ok"}, {"a": "FAIL"}, expected=["a"]).good
    judged = verdict(*[{"a": "ok"}] * 4, expected=["a"])
    assert not judged.good
    assert "NO LONGER DIFFERS: a" in str(judged)


def test_a_module_without_tests_proves_nothing(verdict):
    assert not verdict({}, {}).good
