"""PyTorch does not notice that its modules are recorded: the same results to the last bit, the
same graphs, the same graph breaks and recompiles, the same warnings."""

import json
import os
import re
import subprocess
import sys

import isc_decode as isc
import pytest
from conftest import PYTHONS, version_of
from layer_kit import label

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_program.py")
with open(PROGRAM) as file:
    SECTIONS = re.findall(r"^@section\ndef (\w+)", file.read(), re.M)
HAS_TORCH = "import importlib.util, sys; sys.exit(not importlib.util.find_spec('torch'))"


def torches():
    """Interpreters that have PyTorch: of .venv, those that are tested, the distribution's."""
    found = []
    for python in [sys.executable, *PYTHONS, "/usr/bin/python3"]:
        if (os.path.exists(python) and python not in found
                and not subprocess.run([python, "-c", HAS_TORCH]).returncode):
            found.append(python)
    return found


@pytest.fixture(scope="module", params=torches() or [None],
                ids=lambda python: "py%d.%d %s" % (*version_of(python), os.path.dirname(python))
                if python else "none")
def torch_python(request):
    return request.param or pytest.skip("no interpreter has PyTorch")


def run(tmp, *command, limit_s=1000):
    """What the program says; one that hangs is ended, and tells where it hung."""
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("INFERSCOPE_", "PYTHON"))}
    # One thread: how sums are split among threads is the library's to choose.
    env.update(OMP_NUM_THREADS="1", TORCHINDUCTOR_CACHE_DIR=str(tmp / "cache"), HOME=str(tmp),
               PYTHONFAULTHANDLER="1")
    done = subprocess.run(["timeout", "--signal=ABRT", str(limit_s), *command], cwd=str(tmp),
                          env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def alone(torch_python, tmp_path_factory):
    return run(tmp_path_factory.mktemp("alone"), torch_python, PROGRAM)


@pytest.fixture(scope="module", params=["auto", "trace"])
def recorded(request, torch_python, tmp_path_factory, binary):
    tmp = tmp_path_factory.mktemp("recorded")
    outcome = run(tmp, binary, "run", "--quiet", "--cpu", request.param, "--trace", "t.isc",
                  "--trace-size-mb", "400", "--report", "r.json", "--python", torch_python, PROGRAM)
    return outcome, isc.load(str(tmp / "t.isc"))


# Those that take seconds: backends that generate code, and whatever imports them.
SLOW = {"compile_aot_eager", "module_compile", "export", "fully_sharded"}


def test_nothing_is_different_in_short(torch_python, tmp_path, binary):
    """What does not take long, in the default mode, for every `make test`."""
    sections = [name for name in SECTIONS if name not in SLOW]
    alone = run(tmp_path, torch_python, PROGRAM, *sections, limit_s=140)
    recorded = run(tmp_path, binary, "run", "--quiet", "--trace", "t.isc", "--report", "r.json",
                   "--python", torch_python, PROGRAM, *sections, limit_s=140)
    assert set(sections) < set(alone)
    for name in alone:
        assert recorded[name] == alone[name], name


@pytest.mark.long
@pytest.mark.parametrize("section", SECTIONS + ["warnings"])
def test_nothing_is_different_when_recorded(alone, recorded, section):
    if str(alone[section]).startswith("absent"):
        pytest.skip(alone[section])
    assert recorded[0][section] == alone[section]


@pytest.mark.long
def test_and_it_was_recorded(recorded, torch_python, request):
    if version_of(torch_python) < (3, 12) and "auto" in request.node.name:
        pytest.skip("before 3.12 there are no hooks of ours in PyTorch within a budget")
    _, trace = recorded
    begins = [label(trace.layers[event.id]) for thread in trace.threads.values()
              for event in thread.events if event.kind == isc.LAYER_BEGIN]
    assert {"Model", "blocks.2.mlp.1", "out"} <= set(begins)
