"""The examples as programs of their own: without a recording they just work.

What a recording of them must say is tested where recording is tested.
"""

import json
import os
import re
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PYTHONS = os.environ.get("INFERSCOPE_PYTHONS", sys.executable).split(":")


def example(python, name, *arguments):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("INFERSCOPE_", "PYTHON"))}
    run = subprocess.run([python, os.path.join(ROOT, "examples", name), *arguments], text=True,
                         env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    assert run.stderr == ""
    return run


@pytest.mark.parametrize("python", PYTHONS)
def test_the_asyncio_server_interleaves_its_requests(python, tmp_path):
    file = tmp_path / "latencies.json"
    run = example(python, "asyncio_server.py", "--requests", "100", "--latencies", str(file))
    assert run.returncode == 0
    latencies = json.loads(file.read_text())
    assert sorted(map(int, latencies)) == list(range(100))
    slowest = float(re.search(r"slowest ([\d.]+) ms", run.stdout).group(1))
    assert sum(latencies.values()) > 3 * slowest, "one after the other, not interleaved"


def test_torch_inference_gives_the_same_answers_every_time():
    pytest.importorskip("torch")
    runs = [example(sys.executable, "torch_cpu_inference.py", "--requests", "5") for _ in range(2)]
    assert [run.returncode for run in runs] == [0, 0]
    labels = [run.stdout.splitlines()[1] for run in runs]
    assert labels[0] == labels[1]
    assert sum(map(int, re.findall(r" (\d+)", labels[0]))) == 5 * 4


@pytest.mark.parametrize("name, arguments", [
    ("asyncio_server.py", ["--requests", "0"]),
    ("torch_cpu_inference.py", ["--batch", "0"]),
])
def test_nonsense_is_refused(name, arguments):
    if name.startswith("torch"):
        pytest.importorskip("torch")
    run = subprocess.run([sys.executable, os.path.join(ROOT, "examples", name), *arguments],
                         stderr=subprocess.PIPE, text=True)
    assert run.returncode == 2
    assert "must be at least 1" in run.stderr
