"""The GPU draws on the overhead budget: beyond it, it is recorded in windows."""

import json
import sys

import pytest

import gpu_trace
from gpu_double import told

# More launches than 25 % of the time pays for: for so many seconds, or until a pause has come and
# gone.
pytestmark = pytest.mark.measures

MANY = """
    import fake_cuda, sys, time
    def wait(seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pass
    def goes_on():
        if sys.argv[1] != "resumed":
            return time.monotonic() < began + float(sys.argv[1])
        now = fake_cuda.free_gil.fake_records_kernels()
        if seen[-1] != now:
            seen.append(now)
        return len(seen) < 3 and time.monotonic() < began + 60
    fake_cuda.init()
    began, n, seen = time.monotonic(), 0, [1]
    while goes_on():
        for _ in range(300):
            fake_cuda.launch("k")
        n += 300
        wait(0.0005)
    print([n, fake_cuda.free_gil.fake_times_finalized()])
"""


# The same, with a new graph now and then, most of them in a pause; they are replayed in the end.
CAPTURES = """
    import fake_cuda, time
    fake_cuda.init()
    lib = fake_cuda.free_gil
    instances = []
    for turn in range(28):
        lib.fake_capture_begin()
        fake_cuda.launch("node")
        instances.append(lib.fake_graph_instantiate(lib.fake_capture_end()))
        end = time.monotonic() + 0.25
        while time.monotonic() < end:
            for _ in range(60):
                fake_cuda.launch("k")
            for instance in instances if turn > 19 else ():
                lib.fake_graph_replay(instance, 7)
            until = time.monotonic() + 0.002
            while time.monotonic() < until:
                pass
    print(lib.fake_times_finalized())
"""

# More nodes than 1 % of the time pays for.
REPLAYS = """
    import fake_cuda, json, time
    fake_cuda.init()
    lib = fake_cuda.free_gil
    lib.fake_capture_begin()
    for _ in range(50):
        fake_cuda.launch("node")
    instance = lib.fake_graph_instantiate(lib.fake_capture_end())
    end, replays = time.monotonic() + 2, 0
    while time.monotonic() < end:
        replays += lib.fake_graph_replay(instance, 7) > 0
        time.sleep(0.002)
    print(json.dumps([instance, replays]))
"""

BUDGET = ("--cpu", "off", "--max-overhead", "25")


def states(trace):
    return [state.state for state in trace.states]


def test_what_the_budget_does_not_pay_for_is_left_out_in_windows(record_gpu, work):
    trace = record_gpu(sys.executable, MANY, "resumed", options=BUDGET)
    assert states(trace)[:3] == [gpu_trace.RECORDING, gpu_trace.PAUSED, gpu_trace.RECORDING]
    launched, finalized = told(trace)[0]
    assert 0 < len(trace.kernels) < launched
    assert finalized == states(trace).count(gpu_trace.PAUSED), "CUPTI costs in the pauses, too"
    # Inside a window nothing is missing.
    calls = {call.correlation for call in trace.calls}
    assert {kernel.correlation for kernel in trace.kernels} <= calls
    report = json.loads((work / "r.json").read_text())
    assert report["trust"]["overhead_share"] < 0.28
    assert report["trust"]["unmatched_launches"] == 0
    assert any("max_overhead" in note for note in report["trust"]["notes"])


def test_without_a_bound_all_is_recorded(record_gpu):
    trace = record_gpu(sys.executable, MANY, 2, options=("--cpu", "off", "--max-overhead", "100"))
    assert states(trace) == [gpu_trace.RECORDING]
    assert told(trace) == [[len(trace.kernels), 0]]


def test_a_program_that_launches_seldom_is_recorded_wholly(record_gpu):
    few = MANY.replace("range(300)", "range(1)").replace("0.0005", "0.05")
    trace = record_gpu(sys.executable, few, 2)
    assert states(trace) == [gpu_trace.RECORDING]


# Python spends its part of the budget first, as imports do, then the model runs.
AFTER_CALLS = """
    import fake_cuda, time
    def f(n):
        return n if n < 2 else f(n - 1) + f(n - 2)
    end = time.monotonic() + 1
    while time.monotonic() < end:
        f(15)
    fake_cuda.init()
    end, n = time.monotonic() + 1, 0
    while time.monotonic() < end:
        f(12)
        for _ in range(3):
            fake_cuda.launch("k")
        n += 3
        time.sleep(0.002)
    print(n)
"""


def test_calls_do_not_spend_what_is_the_gpus(record_gpu):
    trace = record_gpu(sys.executable, AFTER_CALLS, options=("--cpu", "auto"))
    assert states(trace) == [gpu_trace.RECORDING]
    assert len(trace.kernels) == int(trace.done.stdout)


def test_a_graph_that_is_captured_in_a_pause_is_known_afterwards(record_gpu):
    trace = record_gpu(sys.executable, CAPTURES, options=("--cpu", "off", "--max-overhead", "10"))
    assert states(trace)[:3] == [gpu_trace.RECORDING, gpu_trace.PAUSED, gpu_trace.RECORDING]
    paused, resumed = (state.time_ns for state in trace.states[1:3])
    captures = [trace.capture(kernel) for kernel in trace.kernels if kernel.graph]
    assert captures and None not in captures
    assert any(paused < capture.time_ns < resumed for capture in captures)
    assert told(trace) == [0], "graphs do not survive cuptiFinalize()"


@pytest.mark.parametrize("more", [(), ("--graph-nodes",)])
def test_every_replay_of_a_graph_is_recorded_whatever_it_costs(record_gpu, work, more):
    """CUPTI may hang when it is switched off while graphs are launched; the account tells."""
    options = ("--cpu", "off", "--max-overhead", "1", *more)
    trace = record_gpu(sys.executable, REPLAYS, options=options)
    assert states(trace) == [gpu_trace.RECORDING]
    assert len(trace.kernels) == 50 * told(trace)[0][1]
    report = json.loads((work / "r.json").read_text())
    assert report["trust"]["overhead_share"] > 0.01


TOOL = """
    import fake_cuda, sys, time
    from torch.autograd.profiler import profile
    fake_cuda.init()
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        for _ in range(60):
            fake_cuda.launch("k")
        time.sleep(0.002)
    taken = fake_cuda.free_gil.fake_other_tool_subscribes()
    with profile():
        print([taken, fake_cuda.free_gil.fake_other_tool_subscribes()])
"""


@pytest.mark.parametrize("cupti, results", [("12.9", [39, 0]), ("13.0", [0, 39])])
def test_another_tool_gets_cupti_in_a_pause_for_the_budget(python, version, record_gpu,
                                                           torch_profiler, cupti, results):
    if version < (3, 12):
        pytest.skip("before 3.12, without calls, nobody is told of torch.profiler")
    trace = record_gpu(python, TOOL, options=BUDGET,
                       env={"FAKE_CUPTI_VERSION": cupti})
    assert gpu_trace.PAUSED in states(trace)
    assert told(trace) == [results]


# Somebody takes CUPTI when it is free; launches go on.
TAKEN = """
    import fake_cuda, time
    lib = fake_cuda.free_gil
    fake_cuda.init()
    taken, end = [], time.monotonic() + 60
    while time.monotonic() < end:
        for _ in range(300):
            fake_cuda.launch("k")
        if not taken and lib.fake_times_finalized():
            taken = [lib.fake_other_tool_subscribes()]
            end = time.monotonic() + 12
    print([taken, lib.fake_times_finalized()])
"""


def test_a_tool_that_took_cupti_in_a_pause_keeps_it(record_gpu):
    trace = record_gpu(sys.executable, TAKEN, options=BUDGET)
    assert told(trace) == [[[0], 1]]
    assert states(trace) == [gpu_trace.RECORDING, gpu_trace.PAUSED, gpu_trace.UNAVAILABLE]
    assert "another tool" in trace.states[-1].text


# Threads that launch without a break.
THREADS = """
    import fake_cuda, threading, time
    lib = fake_cuda.free_gil
    fake_cuda.init()
    seen, end = [1], time.monotonic() + 60
    def work():
        while len(seen) < 3 and time.monotonic() < end:
            for _ in range(100):
                fake_cuda.launch("k")
            now = lib.fake_records_kernels()
            if seen[-1] != now:
                seen.append(now)
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(lib.fake_times_finalized())
"""


def test_cupti_is_kept_where_threads_launch(record_gpu, work):
    trace = record_gpu(sys.executable, THREADS, options=BUDGET)
    assert states(trace)[:3] == [gpu_trace.RECORDING, gpu_trace.PAUSED, gpu_trace.RECORDING]
    assert told(trace) == [0]
    report = json.loads((work / "r.json").read_text())
    assert report["trust"]["unmatched_launches"] == 0
    # Of each thread one may have been launching when CUPTI was taken.
    assert report["trust"]["unmatched_activities"] <= 3 * states(trace).count(gpu_trace.RECORDING)


AFTER_THE_END = """
    import fake_cuda, time
    fake_cuda.init()
    end, left = time.monotonic() + 10, 0
    while not left and time.monotonic() < end:
        fake_cuda.launch("k")
        time.sleep(0.002)
        left = fake_cuda.free_gil.fake_times_finalized()
    print(left)
"""


def test_after_the_recording_cupti_costs_nothing(record_gpu):
    trace = record_gpu(sys.executable, AFTER_THE_END, options=("--duration", "1"))
    assert told(trace) == [1]


def test_a_cupti_that_does_not_let_go_is_kept(record_gpu):
    """A call that fails is no reason to lose what can be recorded."""
    trace = record_gpu(sys.executable, MANY, "resumed", options=BUDGET,
                       env={"FAKE_CUPTI_FAIL": "cuptiFinalize:999"})
    assert states(trace)[:3] == [gpu_trace.RECORDING, gpu_trace.PAUSED, gpu_trace.RECORDING]
    assert told(trace)[0][1] == 0


@pytest.mark.parametrize("seconds", [1.2, 1.6, 2.0])
def test_a_process_that_ends_in_a_pause(record_gpu, seconds):
    """Whoever calls the double while it ends is aborted."""
    trace = record_gpu(sys.executable, MANY, seconds, env={"FAKE_CUPTI_END": "300"},
                       options=("--cpu", "off", "--max-overhead", "1"))
    assert gpu_trace.PAUSED in states(trace)
