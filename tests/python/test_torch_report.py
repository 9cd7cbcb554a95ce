"""What the report says of PyTorch besides layers: loading of data, compilation.

With a double of PyTorch on every CPython; with PyTorch itself where it takes its time (long).
"""

import os

import pytest
from layer_kit import DOUBLE


@pytest.fixture
def pytorch(record, report, version):
    """The report's section about a program that uses the double."""
    def run(python, text, notes=None, **env):
        record(python, text, notes=notes, env={"PYTHONPATH": DOUBLE, "PYTHONDONTWRITEBYTECODE": "1",
                                               "INFERSCOPE_MAX_OVERHEAD": "100", **env})
        return report()["pytorch"]
    return run


LOADER = """
    import os, time
    from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter
    from torch.utils.data._utils.fetch import _MapDatasetFetcher

    def load(batches):
        class Slow(list):
            def __getitem__(self, index):
                time.sleep(0.003)
                return index
        for index in range(batches):
            _MapDatasetFetcher(Slow()).fetch(index)
"""


def test_waits_for_workers_and_what_these_loaded(pytorch, python, work, inferscope):
    told = pytorch(python, LOADER + """
    workers = []
    for batches in (3, 2):
        pid = os.fork()
        if not pid:
            load(batches)
            os._exit(0)
        workers.append(pid)
    loader = _MultiProcessingDataLoaderIter()
    for _ in range(5):
        loader._get_data()
    for pid in workers:
        os.waitpid(pid, 0)
    """)
    assert (told["waits"]["count"], told["loads"]["count"], told["workers"]) == (5, 5, 2)
    assert told["waits"]["total_ms"] >= 50 and told["waits"]["longest_ms"] >= 10
    assert told["loads"]["total_ms"] >= 15
    rows = sorted((row["worker"], row["waits"]["count"], row["loads"]["count"])
                  for row in told["processes"])
    assert rows == [(False, 5, 0), (True, 0, 2), (True, 0, 3)]
    shown = inferscope("analyze", "t.isc", "--report", "r.md")
    assert "for 2 DataLoader workers; 5 batches loaded in" in shown.stdout
    text = (work / "r.md").read_text()
    assert "## Loading of data (PyTorch)" in text and text.count("(DataLoader worker)") == 2
    assert "## Compilation" not in text


def test_without_workers_the_program_loads_by_itself(pytorch, python, inferscope):
    told = pytorch(python, LOADER + """
    load(4)
    """)
    assert (told["waits"]["count"], told["loads"]["count"], told["workers"]) == (0, 4, 0)
    assert told["loads"]["total_ms"] >= 12
    shown = inferscope("analyze", "t.isc")
    assert "4 batches loaded in" in shown.stdout and "worker" not in shown.stdout


COMPILER = """
    import torch, torch._dynamo
    from torch._dynamo.convert_frame import _compile
    from torch._inductor.output_code import CompiledFxGraph

    def step(x):
        return x

    def other(x):
        return x
"""


def test_compilations_by_function_and_how_often_again(pytorch, python, version, work, inferscope):
    told = pytorch(python, COMPILER + """
    for function in (step, other, step, step):
        _compile(function.__code__, False)
    graph = CompiledFxGraph(step)
    for _ in range(7):
        graph([1])
    """)
    assert (told["compilations"]["count"], told["recompilations"]) == (
        (4, 2) if version >= (3, 11) else (4, 3))
    process, = told["processes"]
    assert process["compiled_graphs"]["count"] == 7 and process["compiled_graphs_gpu_ms"] is None
    shown = inferscope("analyze", "t.isc", "--report", "r.md")
    assert "for 4 compilations, %d of them again" % told["recompilations"] in shown.stdout
    text = (work / "r.md").read_text()
    assert "## Compilation (PyTorch)" in text and "Compiled graphs ran 7 times" in text
    if version < (3, 11):  # the argument lies in a cell that is not known
        return
    rows = {row["function"]: row["compilations"] for row in told["compiled"]}
    assert rows == {"step": 3, "other": 1} and told["compiled_count"] == 2
    assert all(row["file"].endswith("program.py") and row["line"] > 0 for row in told["compiled"])


def test_nothing_is_said_of_programs_without_pytorch(record, report, python, inferscope):
    record(python, "print(1)")
    told = report()["pytorch"]
    assert told["processes"] == told["compiled"] == [] and not told["waits"]["count"]
    assert "torch" not in inferscope("analyze", "t.isc").stdout


REAL = """
import torch

@torch.compile
def step(x):
    return torch.relu(x @ x) + 1

for n in (4, 4, 6, 6, 4):
    step(torch.ones(n, n))
"""


@pytest.mark.long
def test_pytorch_itself(python_with, record, report):
    """One function, compiled for a shape and then for any; three and two runs of the two."""
    record(python_with("torch"), REAL, notes=None, timeout=500, stderr=None, env={
        "INFERSCOPE_MAX_OVERHEAD": "100", "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"})
    told = report()["pytorch"]
    row, = told["compiled"]
    assert (row["function"], row["compilations"]) == ("step", 2)
    assert os.path.basename(row["file"]) == "program.py"
    assert (told["compilations"]["count"], told["recompilations"]) == (2, 1)
    assert told["processes"][0]["compiled_graphs"]["count"] == 5


LOADS = """
import torch
from torch.utils.data import DataLoader, TensorDataset

for batch, in DataLoader(TensorDataset(torch.arange(24.)), 4, num_workers=2):
    batch.sum()
"""


@pytest.mark.long
def test_a_dataloader_of_pytorch(python_with, record, report):
    record(python_with("torch"), LOADS, notes=None, timeout=300, env={
        "INFERSCOPE_MAX_OVERHEAD": "100"})
    told = report()["pytorch"]
    assert (told["waits"]["count"], told["loads"]["count"], told["workers"]) == (6, 6, 2)
    assert sorted(row["loads"]["count"] for row in told["processes"]) == [0, 3, 3]
