"""A few programs of run_compat.py with default options, the others that need no package in the long
tests.  `make test-long` runs all of them in every mode.  A hang is a failure (LIMIT_S)."""

import os
import sys

import pytest

import run_compat

PATHS = os.environ.get("INFERSCOPE_PYTHONS", sys.executable).split(":")
FEW = ["PYTHONTRACEMALLOC=1", "tracemalloc and fork", "faulthandler, later"]
PLAIN = [pytest.param(name, marks=[] if name in FEW else pytest.mark.long)
         for name, program in run_compat.PROGRAMS.items() if not program.package]


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("path", PATHS)
def test_a_program_does_what_it_does_alone(binary, path, name):
    assert run_compat.differences(name, path, binary, ["auto"]) == {"auto": None}


def test_differences_are_found():
    alone = [(0, "a", "")]
    assert run_compat.difference(alone, [(0, "a", "")]) is None
    assert "exit status" in run_compat.difference(alone, [(1, "a", "")])
    assert "output" in run_compat.difference(alone, [(0, "b", "")])
    assert "errors" in run_compat.difference(alone, [(0, "a", "c")])
    assert "no report" in run_compat.difference(alone, [(0, "a", ""), "no report was written"])
