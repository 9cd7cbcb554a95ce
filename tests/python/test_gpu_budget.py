"""The GPU draws on the overhead budget: beyond it, it is recorded in windows."""

import json
import sys

import gpu_trace

# More launches than 1 % of the time pays for, for so many seconds.
MANY = """
    import fake_cuda, sys, time
    fake_cuda.init()
    end = time.monotonic() + float(sys.argv[1])
    n = 0
    while time.monotonic() < end:
        for _ in range(50):
            fake_cuda.launch("k")
        n += 50
        time.sleep(0.002)
    print(n)
"""


def states(trace):
    return [state.state for state in trace.states]


def test_what_the_budget_does_not_pay_for_is_left_out_in_windows(record_gpu, work):
    trace = record_gpu(sys.executable, MANY, 5, options=("--cpu", "off", "--max-overhead", "1"))
    assert gpu_trace.PAUSED in states(trace)
    assert states(trace)[:3] == [gpu_trace.RECORDING, gpu_trace.PAUSED, gpu_trace.RECORDING]
    launched = int(trace.done.stdout)
    assert 0 < len(trace.kernels) < launched / 2
    # Inside a window nothing is missing.
    calls = {call.correlation for call in trace.calls}
    assert {kernel.correlation for kernel in trace.kernels} <= calls
    report = json.loads((work / "r.json").read_text())
    assert report["trust"]["overhead_share"] < 0.02
    assert report["trust"]["unmatched_launches"] == 0
    assert any("max_overhead" in note for note in report["trust"]["notes"])


def test_without_a_bound_all_is_recorded(record_gpu):
    trace = record_gpu(sys.executable, MANY, 2, options=("--cpu", "off", "--max-overhead", "100"))
    assert states(trace) == [gpu_trace.RECORDING]
    assert len(trace.kernels) == int(trace.done.stdout)


def test_a_program_that_launches_seldom_is_recorded_wholly(record_gpu):
    trace = record_gpu(sys.executable, MANY.replace("range(50)", "range(1)").replace("0.002", "0.05"),
                       2)
    assert states(trace) == [gpu_trace.RECORDING]
