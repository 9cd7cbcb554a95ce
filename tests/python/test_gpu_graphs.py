"""CUDA graphs against the doubles: what runs of a node belongs to the line that was captured."""

import json
import sys

import pytest

from gpu_double import told

CAPTURED = """
    import fake_cuda, json, threading
    fake_cuda.init()
    lib = fake_cuda.free_gil

    def attention():
        fake_cuda.launch("attention", ns=3000)
        lib.fake_launch_driver(b"softmax", fake_cuda.SHAPE, 7, 1000)

    def model():
        attention()
        fake_cuda.launch("mlp", ns=5000)
        fake_cuda.copy(4096, 8, 3, 3, 1, ns=700)
        lib.fake_memset(512, 0, 7, 300)

    def replay(instance, times):
        for _ in range(times):
            lib.fake_graph_replay(instance, 7)
        lib.fake_sync_device()

    lib.fake_capture_begin()
    model()
    graph = lib.fake_capture_end()
    first, second = lib.fake_graph_instantiate(graph), lib.fake_graph_instantiate(graph)
    replay(first, 3)
    thread = threading.Thread(target=replay, args=(second, 2))
    thread.start()
    thread.join()
    print(json.dumps([first, second]))
"""

NODES = {"attention": ("attention", 7), "softmax": ("attention", 8), "mlp": ("model", 12)}


def line_of(trace, activity):
    """The innermost line of the program's own in the stack of its capture."""
    for code, offset in trace.stacks[trace.capture(activity).stack]:
        frame = trace._frame(code, offset)
        if frame.file and frame.file.endswith("program.py"):
            return frame.function, frame.line
    return None


def lengths_ms(trace, graph):
    """Of the replays of a graph, in order: from the first start to the last end."""
    spans = {}
    for a in trace.activities():
        if a.graph == graph:
            start, end = spans.get(a.correlation, (a.start, 0))
            spans[a.correlation] = min(start, a.start), max(end, a.start + a.duration)
    return sorted((end - start) / 1e6 for start, end in spans.values())


def test_nodes_have_the_lines_of_their_capture(python, record_gpu, work):
    trace = record_gpu(python, CAPTURED, options=("--report", "r.md"))
    first, second = told(trace)[0]
    assert len(trace.kernels) == 15 and len(trace.copies) == len(trace.memsets) == 5
    assert {(k.graph, k.name) for k in trace.kernels} == {
        (graph, name) for graph in (first, second) for name in NODES}
    for kernel in trace.kernels:
        assert line_of(trace, kernel) == NODES[kernel.name]
    assert {line_of(trace, copy) for copy in trace.copies} == {("model", 13)}
    assert {line_of(trace, memset) for memset in trace.memsets} == {("model", 14)}

    report = json.loads((work / "r.json").read_text())
    lines = {(line["function"], line["line"]): line for line in report["gpu"]["lines"]}
    assert lines["attention", 7]["captured_ms"] == lines["attention", 7]["gpu_ms"] == 0.015
    assert lines["model", 12]["gpu_ms"] == 0.025 and lines["model", 13]["captured_ms"] == 0.0035
    # The launches stay where they were made; they started what others captured.
    assert lines["replay", 18]["launches"] == 5 and lines["replay", 18]["gpu_ms"] == 0
    assert report["trust"]["unmatched_launches"] == 0

    graphs = {graph["graph_id"]: graph for graph in report["gpu"]["cuda_graphs"]}
    assert graphs.keys() == {first, second}
    for number, replays in ((first, 3), (second, 2)):
        graph = graphs[number]
        assert graph["replays"] == graph["replays_by_node"] == replays
        assert (graph["nodes"], graph["known_nodes"]) == (5, 5)
        assert (graph["kernels"], graph["copies"], graph["memsets"]) == (3, 1, 1)
        lengths = lengths_ms(trace, number)
        assert len(lengths) == replays
        assert graph["median_ms"] == lengths[(replays - 1) // 2] >= 0.01
        assert graph["max_ms"] == lengths[-1]
        assert graph["total_ms"] == pytest.approx(sum(lengths))
        # The capture began in the module's own code, not where its nodes were made.
        assert (graph["captured"]["function"], graph["captured"]["line"]) == ("<module>", 21)
        assert (graph["launched"]["function"], graph["launched"]["line"]) == ("replay", 18)
    assert "| `program.py:21` | `program.py:18` | 3 |" in (work / "r.md").read_text()


def test_a_capture_is_told_in_its_call(record_gpu):
    """Events of a thread are in order: a node lies inside the call that made it."""
    trace = record_gpu(sys.executable, CAPTURED)
    calls = {(call.thread, call.stack): call for call in trace.calls if call.stack}
    originals = set(trace.clones.values())
    made = [node for (_, number), node in trace.nodes.items() if number in originals]
    assert len(made) == 5
    for node in made:
        call = calls[node.thread, node.stack]
        assert call.start_ns <= node.time_ns <= call.end_ns


BY_HAND = """
    import fake_cuda
    fake_cuda.init()
    lib = fake_cuda.free_gil

    def child():
        graph = lib.fake_graph_create()
        lib.fake_graph_add_kernel(graph, b"inner", 1000)
        return graph

    def outer():
        graph = lib.fake_graph_create()
        lib.fake_graph_add_kernel(graph, b"outer", 1000)
        lib.fake_graph_add_child(graph, child())
        return graph

    instance = lib.fake_graph_instantiate(outer())
    lib.fake_graph_replay(instance, 7)
    lib.fake_graph_launch(b"unheard", 99, 1, 7, 2000)
    lib.fake_sync_device()
"""


def test_graphs_made_by_hand_nested_and_unknown(record_gpu, work):
    trace = record_gpu(sys.executable, BY_HAND)
    by_name = {kernel.name: kernel for kernel in trace.kernels}
    assert line_of(trace, by_name["outer"]) == ("outer", 13)
    assert trace.capture(by_name["inner"]) is None and trace.capture(by_name["unheard"]) is None
    report = json.loads((work / "r.json").read_text())
    lines = {line["line"]: line for line in report["gpu"]["lines"]}
    assert lines[13]["captured_ms"] == lines[13]["gpu_ms"] == 0.001
    # Without its capture a node counts for the launch of its graph.
    assert (lines[18]["gpu_ms"], lines[18]["captured_ms"]) == (0.001, 0)
    assert (lines[19]["gpu_ms"], lines[19]["captured_ms"]) == (0.002, 0)
    by_hand, unheard = report["gpu"]["cuda_graphs"]
    assert (by_hand["nodes"], by_hand["known_nodes"]) == (2, 1)
    assert by_hand["captured"]["line"] == 13 and unheard["captured"] is None
    assert unheard["known_nodes"] == 0 and unheard["launched"]["line"] == 19


def test_a_cupti_that_refuses_nodes_is_done_without(record_gpu, work):
    trace = record_gpu(sys.executable, CAPTURED, env={
        "FAKE_CUPTI_FAIL": "cuptiGetGraphNodeId:1"})
    assert trace.nodes == {} and trace.clones == {} and len(trace.kernels) == 15
    report = json.loads((work / "r.json").read_text())
    lines = {line["line"]: line for line in report["gpu"]["lines"]}
    assert lines[18]["gpu_ms"] == 0.05 and lines[18]["captured_ms"] == 0
