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
    assert "for 4 compilations, %d of them recompilations" % told["recompilations"] in shown.stdout
    text = (work / "r.md").read_text()
    assert "## Compilation (PyTorch)" in text and "Compiled graphs ran 7 times" in text
    if version < (3, 11):  # the argument lies in a cell that is not known
        return
    rows = {row["function"]: row["compilations"] for row in told["compiled"]}
    assert rows == {"step": 3, "other": 1} and told["compiled_count"] == 2
    assert all(row["file"].endswith("program.py") and row["line"] > 0 for row in told["compiled"])


REFUSED = "tensor 'x' size mismatch at index 1. expected 128, actual %d"


def test_what_was_compiled_again_says_why(pytorch, python, version, work, inferscope):
    """Of all that was compiled before; the newest counts, as it does for PyTorch itself."""
    told = pytorch(python, COMPILER + """
    def tell(*sizes):
        return ["%%d/0: %s" %% (n, size) for n, size in enumerate(sizes)]
    for failures in ([], tell(129), tell(130, 129), tell(129, 130, 131), ["0/0: a | b\\nstack"]):
        _compile(step.__code__, False, failures)
    _compile(other.__code__, False)
    try:
        _compile(step.__code__, True, ["___check_obj_id(model, 7)"])
    except Exception:
        pass
    """ % REFUSED)
    if version < (3, 11):  # the argument lies in a cell that is not known
        assert not [row for row in told["compiled"] if row["reasons"]]
        return
    rows = {row["function"]: row for row in told["compiled"]}
    assert [(reason["text"], reason["count"]) for reason in rows["step"]["reasons"]] == [
        (REFUSED % 129, 2), ("___check_obj_id(model, 7)", 1), ("a | b", 1), (REFUSED % 130, 1)]
    assert rows["step"]["reason_count"] == 4 and rows["step"]["compilations"] == 6
    assert rows["other"]["reasons"] == []
    assert inferscope("analyze", "t.isc", "--report", "r.md").returncode == 0
    text = (work / "r.md").read_text()
    assert "step was recompiled because:\n\n- tensor 'x' size mismatch" in text
    assert "actual 129 (2 times)\n" in text and "stack" not in text


@pytest.mark.parametrize("failures", [
    "None", "{}", "{step.__code__: None}", "{step.__code__: [['a list']]}", "{step.__code__: {}}",
    "type('Odd', (dict,), {'__getitem__': None, '__missing__': None, 'get': None})()"])
def test_what_pytorch_keeps_otherwise_is_left_alone(pytorch, python, version, failures):
    """Other versions may have something else there: nothing is asked of it."""
    told = pytorch(python, COMPILER + """
    import torch._dynamo.utils as utils
    utils.guard_failures = %s
    for _ in range(3):
        _compile(step.__code__, False)
    """ % failures)
    assert told["compilations"]["count"] == 3
    assert not [row for row in told["compiled"] if row["reasons"]]


def test_the_finding_says_why(pytorch, python, version, report):
    if version < (3, 11):
        pytest.skip("the argument lies in a cell that is not known")
    pytorch(python, COMPILER + """
    import time
    from inferscope import scope
    for n in range(40):
        with scope("request"):
            _compile(step.__code__, False, ["0/0: %s" %% n] if n else [], 0.002)
            time.sleep(0.001)
    """ % REFUSED)
    finding, = (f for f in report()["findings"] if f["id"] == "jit-compile")
    why, = (text for text in finding["evidence"] if "recompiled" in text)
    assert why == "step was recompiled because: %s, and for other reasons" % (REFUSED % 1)


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
    assert [reason["count"] for reason in row["reasons"]] == [1]
    assert row["reasons"][0]["text"].startswith(
        "tensor 'x' size mismatch at index 0. expected 4, actual 6")
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


RECOMPILES = """
import torch

model = torch.compile(torch.nn.Linear(8, 8), backend="aot_eager", dynamic=False)
for n in range(2, 8):
    model(torch.ones(n, 8))
"""


@pytest.mark.long
def test_samples_see_what_compiles(python_with, record, report):
    """Where torch.compile evaluates a frame that has not begun, what it calls lies behind that."""
    record(python_with("torch"), RECOMPILES, notes=None, timeout=300, env={
        "INFERSCOPE_CPU": "sample"})
    step = report()["steps"][0]
    shares = {part["class"]: part["share"] for part in step["breakdown"]}
    assert shares["compile"] > 0.5, shares
