"""CUPTI misbehaves: the program never notices, the trace says what is missing and why."""

import json
import re
import sys
import time

import pytest

import gpu_trace
import isc_decode as isc
from gpu_double import only_state

STEPS = """
    import fake_cuda, sys

    def step():
        return fake_cuda.launch("k")

    fake_cuda.init()
    done = [step() for _ in range(50)]
    fake_cuda.free_gil.fake_sync_device()
    print(len(set(done)), 0 not in done)
    sys.exit(7)
"""
PYTHON = sys.executable

FUNCTIONS = [
    "cuptiGetVersion", "cuptiGetResultString", "cuptiSubscribe", "cuptiUnsubscribe",
    "cuptiEnableCallback", "cuptiActivityEnable", "cuptiActivityDisable",
    "cuptiActivityRegisterCallbacks", "cuptiActivityRegisterTimestampCallback",
    "cuptiActivityGetNextRecord", "cuptiActivityGetNumDroppedRecords", "cuptiActivityFlushAll"]
HARMLESS = {"cuptiGetResultString", "cuptiUnsubscribe", "cuptiActivityDisable",
            "cuptiActivityGetNumDroppedRecords"}


def steps(record_gpu, **env):
    """The program's output, exit status and Python side are as if nothing were wrong."""
    trace = record_gpu(PYTHON, STEPS, status=7, env=env)
    assert trace.done.stdout == "50 True\n"
    assert calls_of(trace, "step") == 50
    return trace


def calls_of(trace, name):
    return sum(event.kind == isc.CALL and trace.codes[event.id]["name"] == name
               for thread in trace.threads.values() for event in thread.events)


def test_the_doubles_have_every_function_that_the_agent_loads(root):
    with open(root + "/src/agent/gpu/cupti.h", encoding="utf-8") as header:
        assert re.findall(r'X\(\w+, "(\w+)"', header.read()) == FUNCTIONS


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("code", [1, 8, 999])
def test_every_function_that_fails(record_gpu, function, code):
    trace = steps(record_gpu, FAKE_CUPTI_FAIL="%s:%d" % (function, code))
    *before, last = trace.states
    if function in HARMLESS:
        assert before == [] and last.state == gpu_trace.RECORDING
        assert len(trace.kernels) == 50 and len(trace.calls) == 51
        return
    assert last.state in (gpu_trace.UNAVAILABLE, gpu_trace.STOPPED)
    assert [state.state for state in before] == [gpu_trace.RECORDING] * len(before)
    assert "(%d)" % code in last.text
    if last.state == gpu_trace.UNAVAILABLE:
        assert (before, trace.kernels, trace.calls) == ([], [], [])
    else:
        assert len(trace.kernels) < 50 and len(trace.calls) == 51


@pytest.mark.parametrize("nth", [2, 3, 4, 5, 6])
def test_a_start_that_fails_half_way_leaves_nothing_on(record_gpu, nth):
    trace = steps(record_gpu, FAKE_CUPTI_FAIL="cuptiActivityEnable:15:%d" % nth)
    state = only_state(trace)
    assert state.state == gpu_trace.UNAVAILABLE and "(15)" in state.text
    assert (trace.kernels, trace.calls, trace.devices) == ([], [], [])


def test_one_kind_of_call_that_cupti_does_not_know(record_gpu):
    """A newer CUPTI may have dropped a call; the others go on."""
    trace = steps(record_gpu, FAKE_CUPTI_FAIL="cuptiEnableCallback:1:3")
    assert only_state(trace).state == gpu_trace.RECORDING
    assert len(trace.kernels) == 50 and len(trace.calls) == 51


@pytest.mark.parametrize("env, words", [
    ({"FAKE_CUPTI_FAIL": "cuptiSubscribe:39"}, ["another tool", "nsys", "end it"]),
    ({"FAKE_CUPTI_VERSION": "11.7"}, ["too old", "17", "11.8 or newer is needed"]),
    ({"INFERSCOPE_CUPTI": "/nowhere/libcupti.so"}, ["not found", "install", "INFERSCOPE_CUPTI"]),
])
def test_reasons_name_the_cause_and_what_to_do(record_gpu, env, words):
    state = only_state(steps(record_gpu, **env))
    assert state.state == gpu_trace.UNAVAILABLE
    for word in words:
        assert word in state.text


OLD_CUPTI = "libcupti 11.8 does not know the driver calls"


@pytest.mark.parametrize("cupti, driver, both", [
    ("11.8", "11080", True), ("11.8", "13000", False), ("12.9", "13000", True)])
def test_cupti_11_8_is_not_asked_for_the_calls_of_a_newer_driver(record_gpu, work, cupti, driver,
                                                                 both):
    """With them it crashes; the runtime's are right, and what is missing is said."""
    trace = record_gpu(PYTHON, """
        import fake_cuda
        fake_cuda.init()
        for _ in range(5):
            fake_cuda.launch("by_the_runtime")
            fake_cuda.free_gil.fake_launch_driver(b"by_the_driver", fake_cuda.SHAPE, 7, 1000)
    """, env={"FAKE_CUPTI_VERSION": cupti, "FAKE_CUDA_VERSION": driver})
    called = {call.correlation for call in trace.calls}
    linked = [kernel.name for kernel in trace.kernels if kernel.correlation in called]
    assert linked.count("by_the_runtime") == 5
    assert linked.count("by_the_driver") == (5 if both else 0)
    assert len(trace.kernels) == 10
    with open(str(work / "r.json")) as file:
        notes = json.load(file)["trust"]["notes"]
    assert any(OLD_CUPTI in note for note in notes) == (not both)


def test_a_cupti_without_a_function(record_gpu, doubles):
    trace = steps(record_gpu, INFERSCOPE_CUPTI=doubles.path("libfake_cupti_old.so"))
    state = only_state(trace)
    assert state.state == gpu_trace.UNAVAILABLE
    assert "no cuptiActivityRegisterTimestampCallback" in state.text


def test_another_tool_that_comes_later_is_told_no(record_gpu):
    trace = record_gpu(PYTHON, """
        import fake_cuda
        fake_cuda.init()
        fake_cuda.launch("before")
        print(fake_cuda.free_gil.fake_other_tool_subscribes())
        fake_cuda.launch("after")
    """)
    assert trace.done.stdout == "39\n"
    assert [k.name for k in trace.kernels] == ["before", "after"]


def test_dropped_records_are_counted(record_gpu):
    trace = steps(record_gpu, FAKE_CUPTI_DROP="7")
    assert trace.dropped == 7  # of 50 kernels and the device's own record
    assert len(trace.kernels) + len(trace.devices) + trace.dropped == 51


def test_activities_without_times(record_gpu):
    trace = steps(record_gpu, FAKE_CUPTI_UNTIMED="5")
    assert sorted(k.start == 0 for k in trace.kernels) == [False] * 40 + [True] * 10
    assert all(k.duration == (1000 if k.start else 0) for k in trace.kernels)


def test_records_of_kinds_to_come(record_gpu):
    trace = steps(record_gpu, FAKE_CUPTI_STRANGE="1")
    assert [k.correlation for k in trace.kernels] == [c.correlation for c in trace.calls[:50]]


def test_buffers_that_come_late(record_gpu):
    trace = record_gpu(PYTHON, """
        import fake_cuda, time
        fake_cuda.init()
        for i in range(3000):
            fake_cuda.launch("k")
        fake_cuda.free_gil.fake_sync_device()
        time.sleep(0.3)
    """, env={"FAKE_CUPTI_LATE": "1"})
    arrived = [k.correlation for k in trace.kernels]
    assert sorted(arrived) == [c.correlation for c in trace.calls[:3000]]
    assert arrived != sorted(arrived)


def test_a_buffer_that_is_being_read_at_the_end(record_gpu):
    """CUPTI's own thread has it; the last flush knows nothing of it."""
    trace = record_gpu(PYTHON, """
        import fake_cuda, time
        fake_cuda.init()
        for i in range(100):
            fake_cuda.launch("k")
        fake_cuda.free_gil.fake_sync_device()
        time.sleep(0.05)
    """, env={"FAKE_CUPTI_SLOW": "400"})
    assert len(trace.kernels) == 100


@pytest.mark.parametrize("env", [{"FAKE_CUPTI_HANG": "cuptiActivityFlushAll"}, {}])
def test_the_end_is_never_held_up(record_gpu, env):
    """A flush that hangs; a device that is busy for an hour."""
    start = time.monotonic()
    trace = record_gpu(PYTHON, """
        import fake_cuda, time
        fake_cuda.init()
        for i in range(20):
            fake_cuda.launch("short")
        time.sleep(0.5)
        fake_cuda.launch("endless", ns=3600 * 10**9)
    """, env=env)
    assert time.monotonic() - start < 100
    if env:  # a CUPTI that hands nothing over leaves nothing to record
        assert not trace.kernels
        assert [state.state for state in trace.states] == [gpu_trace.RECORDING, gpu_trace.STOPPED]
        assert "2 seconds" in trace.states[1].text
    else:
        assert [k.name for k in trace.kernels[:20]] == ["short"] * 20
        assert trace.kernels[20][:4] == ("endless", 1, 0, 0)
        assert only_state(trace).state == gpu_trace.RECORDING


@pytest.mark.parametrize("options, status", [([], 0), (["--strict"], 4)])
def test_a_second_device_ends_the_recording_of_the_gpu(record_gpu, options, status):
    program = """
        import fake_cuda, sys, time
        fake_cuda.init()
        def step(): fake_cuda.launch("k")
        for _ in range(10): step()
        fake_cuda.free_gil.fake_sync_device()
        time.sleep(0.4)
        fake_cuda.free_gil.fake_set_device(1, 2)
        for _ in range(10): step()
        fake_cuda.free_gil.fake_sync_device()
        print("done")
    """
    trace = record_gpu(PYTHON, program, options=options, status=status)
    assert trace.done.stdout == "done\n"
    assert {k.device for k in trace.kernels} == {0} and len(trace.kernels) == 10
    assert [state.state for state in trace.states] == [gpu_trace.RECORDING, gpu_trace.STOPPED]
    for word in ("second GPU", "CUDA_VISIBLE_DEVICES"):
        assert word in trace.states[1].text
    assert calls_of(trace, "step") == 20


def test_strict_is_not_content_with_less(inferscope, gpu_env, write):
    write("import fake_cuda\nfake_cuda.init()\nfake_cuda.launch('k')\n")
    for env, status in (({}, 0), ({"FAKE_CUPTI_FAIL": "cuptiSubscribe:39"}, 4)):
        done = inferscope("run", "--quiet", "--strict", "--python", PYTHON, "program.py",
                          env={**gpu_env, **env})
        assert done.returncode == status
        assert ("another tool" in done.stderr) == bool(env)


def test_two_contexts_of_one_device(record_gpu):
    trace = record_gpu(PYTHON, """
        import fake_cuda
        fake_cuda.init()
        for context in (1, 2, 3):
            fake_cuda.free_gil.fake_set_device(0, context)
            fake_cuda.launch("k")
    """)
    assert [k.context for k in trace.kernels] == [1, 2, 3]
    assert only_state(trace).state == gpu_trace.RECORDING
