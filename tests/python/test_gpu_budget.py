"""The GPU is recorded for the whole time, whatever it costs; the report prints the cost."""

import json
import os
import sys

import pytest

import gpu_trace
from gpu_double import only_state, told

# More launches than 1 % of the time pays for, but no more than a real device takes; long enough
# that the start is not most of the run.
LAUNCHES = """
    import fake_cuda, time
    fake_cuda.init()
    n = 0
    for _ in range(250):
        until = time.thread_time() + 0.005
        for _ in range(300):
            fake_cuda.launch("k")
        n += 300
        while time.thread_time() < until:
            pass
    print(n)
"""

# A graph of 50 nodes, replayed.
REPLAYS = """
    import fake_cuda, json, time
    time.sleep(%s)
    fake_cuda.init()
    lib = fake_cuda.free_gil
    lib.fake_capture_begin()
    for _ in range(50):
        fake_cuda.launch("node")
    instance = lib.fake_graph_instantiate(lib.fake_capture_end())
    end, replays = time.monotonic() + 1.2, 0
    while time.monotonic() < end:
        replays += lib.fake_graph_replay(instance, 7) > 0
        time.sleep(0.002)
    print(json.dumps([instance, replays]))
"""

TIGHT = ("--cpu", "off", "--max-overhead", "0.1")


def trust(work):
    return json.loads((work / "r.json").read_text())["trust"]


def test_the_whole_timeline_is_recorded_and_its_cost_is_printed(record_gpu, work):
    trace = record_gpu(sys.executable, LAUNCHES, options=TIGHT)
    assert only_state(trace).state == gpu_trace.RECORDING
    assert len(trace.kernels) == told(trace)[0]
    report = trust(work)
    assert 0.001 < report["gpu_overhead_share"] <= report["overhead_share"]
    assert report["graph_overhead_share"] == 0
    assert any("most of it for CUPTI" in note and "--duration" in note
               for note in report["notes"])


def test_nodes_of_graphs_are_recorded_and_the_switch_is_named(record_gpu, work):
    trace = record_gpu(sys.executable, REPLAYS % 0, options=TIGHT)
    instance, replays = told(trace)[0]
    assert only_state(trace).state == gpu_trace.RECORDING
    assert len(trace.kernels) == 50 * replays and not trace.graphs
    report = trust(work)
    assert 0.001 < report["graph_overhead_share"] <= report["overhead_share"]
    assert any("--graph-nodes off" in note for note in report["notes"])


def test_without_nodes_each_replay_is_one_record(record_gpu, work):
    trace = record_gpu(sys.executable, REPLAYS % 0, options=("--graph-nodes", "off"))
    instance, replays = told(trace)[0]
    assert only_state(trace).state == gpu_trace.RECORDING
    assert [graph.graph for graph in trace.graphs] == [instance] * replays
    assert not trace.kernels and not trace.nodes
    launches = {call.correlation for call in trace.calls if call.name == "cudaGraphLaunch"}
    assert {graph.correlation for graph in trace.graphs} == launches
    report = json.loads((work / "r.json").read_text())
    assert report["trust"]["graph_overhead_share"] == 0
    row, = report["gpu"]["cuda_graphs"]
    assert row["replays"] == replays and row["replays_by_node"] == 0


def test_a_late_recording_keeps_to_nodes(record_gpu, work):
    """Launching a graph that CUPTI knows by its nodes crashes once it is told to go by graphs."""
    late = ("--graph-nodes", "off", "--delay", "0.5")
    text = REPLAYS.replace("fake_cuda.init()", "fake_cuda.init()\n    time.sleep(%s)", 1)
    trace = record_gpu(sys.executable, text % (0, 1.5), options=late)
    assert trace.kernels and not trace.graphs
    assert any("node by node" in note for note in trust(work)["notes"])


# Tells whether CUPTI still records when the recording is over and the program runs on.
AFTERWARDS = """
    import json, sys, time
    import fake_cuda, inferscope
    inferscope.start("r.json", trace="t.isc")
    fake_cuda.init()
    lib = fake_cuda.free_gil
    if sys.argv[1] == "graph":
        lib.fake_capture_begin()
        fake_cuda.launch("node")
        instance = lib.fake_graph_instantiate(lib.fake_capture_end())
        lib.fake_graph_replay(instance, 7)
    fake_cuda.launch("k")
    inferscope.stop()
    end = time.monotonic() + 120
    while lib.fake_other_tool_subscribes() and time.monotonic() < end:
        time.sleep(0.01)
    print(json.dumps([lib.fake_records_kernels(), time.monotonic() < end]))
"""


@pytest.mark.parametrize("program, records", [("plain", 0), ("graph", 1)])
def test_when_the_recording_is_over_cupti_is_free(plain, package, gpu_env, write, program, records):
    """Activities of a program with graphs stay on: to disable them beside a launch may hang it."""
    write(AFTERWARDS)
    path = os.pathsep.join([package, gpu_env["PYTHONPATH"]])
    done = plain(sys.executable, "program.py", program, env={**gpu_env, "PYTHONPATH": path})
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == [records, True]
