"""PyTorch's cache of device memory is asked now and then, and never where that could do harm.

The double's functions are C, as PyTorch's are, and answer what the test has put there.
"""

import json
import textwrap

import pytest

from layer_kit import DOUBLE
from test_memory_series import Series

PROGRAM = """
import sys, time
sys.path.insert(0, %r)
import torch

class Model(torch.nn.modules.module.Module):
    def forward(self, x):
        return x

model = Model()

def serve(seconds):
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        model(1)
        time.sleep(0.0005)

def tell(device=0, **what):
    torch._C.ANSWERS[device] = torch._C.stats(**what)
""" % DOUBLE

GB = 1 << 30


@pytest.fixture
def serve(inferscope, write, work):
    """Records a program that uses the double; its series of process 1 by (name, device)."""
    def run(python, text, *options, status=0, output=""):
        done = inferscope("run", "--quiet", "--python", python, "--report", "r.json", "--report",
                          "r.md", "--trace", "t.isc", *options,
                          write(PROGRAM + textwrap.dedent(text)))
        assert done.returncode == status, done.stderr
        assert done.stdout == output
        series = Series(work / "t.isc")
        series.report = json.loads((work / "r.json").read_text())
        series.markdown = (work / "r.md").read_text()
        return series
    return run


@pytest.fixture
def newest(pythons):
    """What does not depend on the interpreter is tried on one."""
    return pythons[-1]


def told(series):
    return sorted({name for name, _, _ in series.all if name.startswith("torch_")})


def test_what_pytorch_says_is_in_trace_and_report(serve, python):
    series = serve(python, """
    torch.cuda._lazy_init()
    tell(allocated=3 << 30, reserved=12 << 30, split=1 << 30, most=13 << 30)
    serve(0.3)
    tell(allocated=2 << 30, reserved=12 << 30, split=2 << 30, most=13 << 30, retries=2)
    serve(1.2)
    """)
    assert set(series.values("torch_reserved_bytes")) == {12 * GB}
    assert series.values("torch_allocated_bytes")[0] == 3 * GB
    assert series.values("torch_allocated_bytes")[-1] == 2 * GB
    assert set(series.values("torch_allocated_peak_bytes")) == {13 * GB}
    assert series.values("torch_split_bytes")[-1] == 2 * GB
    assert series.values("torch_retries")[-1] == 2
    assert set(series.values("torch_ooms")) == {0}
    [torch] = series.report["memory"]["processes"][0]["torch"]
    assert torch["device"] == 0 and torch["retries"] == 2 and torch["ooms"] == 0
    assert torch["reserved_bytes"]["last"] == 12 * GB
    assert torch["allocated_bytes"] == dict(torch["allocated_bytes"], first=3 * GB, last=2 * GB)
    assert torch["reserved_peak_bytes"] == 13 * GB
    assert "torch-retries" in [c["id"] for c in series.report["memory"]["concerns"]]
    assert ("12.9 GB reserved at end, 2.15 GB of it for tensors (peaks: 14.0 GB and 14.0 GB);"
            " the rest: 8.59 GB in completely free blocks, kept since a peak, and 2.15 GB in"
            " fragments between tensors; cache released for lack of memory: 2 times"
            ) in series.markdown


def test_it_is_asked_once_a_second(serve, newest):
    """Every answer is another, so that each look is a point."""
    series = serve(newest, """
    torch.cuda._lazy_init()
    until = time.perf_counter() + 2.5
    n = 0
    while time.perf_counter() < until:
        n += 1
        tell(allocated=n, reserved=1 << 20)
        model(1)
        time.sleep(0.0005)
    """)
    times = [time for time, _ in series.of("torch_allocated_bytes")]
    assert len(times) >= 3, "at once, once or twice later, and at the end"
    assert all(b - a > 0.99e9 for a, b in zip(times[:-1], times[1:-1])), times


def test_running_out_of_memory_is_counted_though_the_program_ends(serve, python):
    series = serve(python, """
    torch.cuda._lazy_init()
    tell(reserved=4096, allocated=4096)
    serve(0.1)
    tell(reserved=1 << 30, allocated=1 << 30, retries=1, ooms=1)
    sys.stderr.close()
    raise MemoryError("CUDA out of memory")
    """, status=1)
    assert series.values("torch_ooms")[-1] == 1
    assert series.report["memory"]["concerns"][0]["id"] == "torch-ooms"
    assert series.report["memory"]["meaning"].startswith(
        "PyTorch ran out of memory on device 0 once: it had reserved at most 1.07 GB")


def test_devices_that_have_no_memory_are_left_out(serve, newest):
    series = serve(newest, """
    torch.cuda._lazy_init(3)
    tell(0, reserved=4096); tell(1); tell(2, reserved=8192, allocated=100)
    serve(0.2)
    """)
    assert [entry["device"] for entry in series.report["memory"]["processes"][0]["torch"]] == [0, 2]
    assert set(series.values("torch_reserved_bytes", 1, 2)) == {8192}


HARMFUL = [
    "pass",  # CUDA was not initialised
    "torch.cuda._lazy_init(); torch._C._cuda_isInBadFork = '1'.isdigit",
    "torch.cuda._lazy_init(); del torch._C._cuda_isInBadFork",
    "torch.cuda._lazy_init(); torch._C._cuda_getAllocatorBackend = 'cudaMallocAsync'.lower",
    "torch.cuda._lazy_init(); torch._C._cuda_memoryStats = [].append",  # answers None
    "torch.cuda._lazy_init(0)",
    "torch.cuda._lazy_init(); torch._C.ANSWERS.clear()",  # an exception
    "torch.cuda._lazy_init(); torch._C._cuda_memoryStats = lambda device: 1 / 0",  # Python code
    "torch.cuda._lazy_init(); torch.cuda.default_generators = None",
    "torch.cuda._lazy_init(); torch._C.ANSWERS[0] = {'reserved_bytes': {'all': 7}}",
    "torch.cuda._lazy_init(); del sys.modules['torch.cuda']",
]


def test_nobody_is_asked_where_it_could_do_harm(serve, python):
    """Each in a process of its own; in the last nothing is wrong, and it is asked."""
    series = serve(python, """
    import os
    tell(reserved=1 << 30)
    for why in %r + ["torch.cuda._lazy_init()"]:
        if not os.fork():
            exec(why)
            serve(0.1)
            os._exit(0)
        assert os.wait()[1] == 0, why
    """ % (HARMFUL,))
    asked = {process for name, process, _ in series.all if name == "torch_reserved_bytes"}
    assert len(series.trace.processes) == len(HARMFUL) + 2
    assert asked == {max(series.trace.processes)}


def test_only_with_the_gpu_and_memory(serve, newest):
    text = """
    torch.cuda._lazy_init()
    tell(reserved=1 << 30)
    serve(0.1)
    """
    assert told(serve(newest, text))
    assert not told(serve(newest, text, "--no-gpu"))
    assert not told(serve(newest, text, "--no-memory"))


def test_a_pending_exception_survives(serve, python):
    """A module that fails ends with its exception, whatever PyTorch answers meanwhile."""
    serve(python, """
    class Failing(torch.nn.modules.module.Module):
        def forward(self, x):
            raise KeyError("mine")
    torch.cuda._lazy_init()
    failing = Failing()
    for n in range(100):
        torch._C.ANSWERS.clear() if n % 2 else tell(reserved=1 << 30)
        try:
            failing(1)
        except KeyError as error:
            assert error.args == ("mine",)
        else:
            assert False
    """)


def test_programs_without_modules_are_asked_when_garbage_is_collected(serve, newest):
    series = serve(newest, """
    import gc
    torch.cuda._lazy_init()
    tell(reserved=1 << 30)
    for _ in range(20):
        gc.collect()
        time.sleep(0.01)
    """)
    times = [time for time, _ in series.of("torch_reserved_bytes")]
    assert times[-1] - times[0] > 0.05e9, "there, and at the end"


def test_programs_without_modules_are_asked_where_they_call(serve, python):
    """Neither modules nor collections nor scopes: now and then one of many calls."""
    series = serve(python, """
    import gc
    gc.disable()
    torch.cuda._lazy_init()
    def answer(n):
        tell(allocated=n, reserved=1 << 30)
    until = time.perf_counter() + 1.4
    n = 0
    while time.perf_counter() < until:
        n += 1
        answer(n)
        time.sleep(0.0001)
    """)
    times = [time for time, _ in series.of("torch_allocated_bytes")]
    assert len(times) >= 3, "soon, a second later, and at the end"
    assert times[1] - times[0] > 0.99e9


def test_programs_without_modules_are_asked_where_scopes_end(serve, python):
    """Nothing in the loop is a function of Python's."""
    series = serve(python, """
    import gc
    from inferscope import scope
    gc.disable()
    torch.cuda._lazy_init()
    tell(reserved=1 << 30)
    for _ in range(500):
        with scope("step"):
            time.sleep(0.001)
    """)
    times = [time for time, _ in series.of("torch_reserved_bytes")]
    assert times[-1] - times[0] > 0.4e9, "there, and at the end"


@pytest.mark.parametrize("options", [(), ("--no-cpu",)], ids=["calls", "no-cpu"])
def test_a_program_that_comes_by_nowhere_is_asked_when_it_ends(serve, newest, options):
    """Its peaks, and whether it ran out of memory, are known all the same."""
    series = serve(newest, """
    import gc
    gc.disable()
    least, most = torch._C.stats(), torch._C.stats(reserved=1 << 30, most=5 << 30, retries=1)
    torch._C.ANSWERS[0] = least
    torch.cuda._lazy_init()
    time.sleep(0.2)
    torch._C.ANSWERS[0] = most
    time.sleep(0.1)
    """, *options)
    [torch] = series.report["memory"]["processes"][0]["torch"]
    assert torch["reserved_peak_bytes"] == 5 * GB and torch["retries"] == 1


def test_a_forked_child_is_not_asked(serve, newest):
    """Its PyTorch says so itself, though its parent was asked before."""
    series = serve(newest, """
    import os
    torch.cuda._lazy_init()
    tell(reserved=1 << 30)
    serve(0.1)
    if not os.fork():
        torch._C._cuda_isInBadFork = "1".isdigit
        serve(1.2)
        os._exit(0)
    os.wait()
    """)
    assert {process for name, process, _ in series.all if name == "torch_ooms"} == {1}
