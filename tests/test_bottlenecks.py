"""The programs of examples/bottlenecks by themselves: what is said of them is true.

What a recording of them must say is tested in tests/cli.
"""

import os
import re
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "examples", "bottlenecks")
sys.path.insert(0, FOLDER)
import catalogue  # noqa: E402

PROGRAMS = catalogue.programs()
SLOW = [program for program in PROGRAMS if program.finding]
ON_CPU = [program for program in PROGRAMS if program.on_cpu]


def names(programs):
    return [program.name for program in programs]


def run(program, *more):
    """What each variant says of itself; they run side by side."""
    commands = [program.command(variant, "--device", "cpu", *more) for variant in program.variants]
    running = [subprocess.Popen([sys.executable, *command], text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
               for command in commands]
    outputs = [each.communicate(timeout=240) for each in running]
    assert [(each.returncode, stderr) for each, (_, stderr) in zip(running, outputs)] \
        == [(0, "")] * len(running)
    return [catalogue.said(stdout) for stdout, _ in outputs]


def test_enough_of_them_are_there_and_each_is_in_the_table():
    files = {name[:-3] for name in os.listdir(FOLDER) if name.endswith(".py")}
    assert files - {"catalogue", "harness", "models"} == set(names(PROGRAMS))
    assert len(SLOW) >= 16 and len(PROGRAMS) - len(SLOW) == 3
    with open(os.path.join(FOLDER, "README.md"), encoding="utf-8") as file:
        listed = re.findall(r"^\| `(\w+)` \| (?:`([\w-]+)`|–) \|", file.read(), re.M)
    assert listed == [(program.name, program.finding or "") for program in PROGRAMS]


@pytest.mark.parametrize("program", PROGRAMS, ids=names(PROGRAMS))
def test_what_is_slow_is_marked(program):
    assert bool(program.places) == bool(program.finding)


def test_a_place_is_right_by_file_function_and_line():
    program = next(program for program in PROGRAMS if program.name == "empty_cache")
    (place,) = program.places
    where = {"file": "/srv/empty_cache.py", "function": "PoliteServer.clean_up", "line": place.line}
    assert program.here(where) == (True, True)
    assert program.here(dict(where, line=place.line - 1)) == (True, False)
    assert program.here(dict(where, function="handle")) == (False, True)
    assert program.here(dict(where, file="/srv/models.py")) == (False, False)
    assert program.here(None) == (False, False)


# To import PyTorch twice takes most of the time: two of them always, the others in the long tests.
ALWAYS = "python_preprocessing", "gil_fight"


@pytest.mark.parametrize("program", [
    pytest.param(program, marks=[] if program.name in ALWAYS else pytest.mark.long)
    for program in ON_CPU], ids=names(ON_CPU))
def test_the_fixed_variant_gives_the_same_answers(program):
    pytest.importorskip("torch")
    said = run(program, "--steps", "5", "--seconds", "60")
    assert [words["variant"] for words in said] == program.variants
    assert {words["steps"] for words in said} == {5}
    if program.same_answers:
        assert len({words["digest"] for words in said}) == 1


def test_without_a_gpu_what_needs_one_says_so():
    pytest.importorskip("torch")
    program = next(program for program in PROGRAMS if program.name == "launch_bound")
    done = subprocess.run([sys.executable, *program.command("slow", "--device", "cpu")],
                          stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert "needs a GPU" in done.stderr
