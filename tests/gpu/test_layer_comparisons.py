"""The GPU kit's checks of layers, compilers, loading of data and NVTX: each can fail."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import check  # noqa: E402
import gpu_events  # noqa: E402
import layer_comparisons as m  # noqa: E402
from test_kit import PID, call, kernel, outcome, scoped  # noqa: E402


def layer(name, start, end, root="Net", tid=PID):
    return {"event_type": "layer", "name": name, "class": name.title(), "root": root, "pid": PID,
            "start_us": start, "end_us": end, "tid": tid}


def row(name, self_ms, kernels, calls=1, root="Net"):
    return {"name": name, "class": m.plain(name).title(), "root": root, "self_gpu_ms": self_ms,
            "self_kernels": kernels, "calls": calls}


def model_events():
    """A model of two layers with 1 and 2 ms, a node of a graph with 4, and 8 ms outside."""
    return [layer("Net", 100, 200), layer("attn", 110, 150), layer("mlp", 160, 190),
            call(1, "cudaLaunchKernel", 110, 112, tid=PID), kernel(1, "a", 300, 1300),
            call(2, "cudaLaunchKernel", 150, 152, tid=PID), kernel(2, "b", 1300, 3300),
            call(3, "cudaGraphLaunch", 250, 260, tid=PID),
            {**kernel(3, "c", 4000, 8000), "graph_node_id": 5, "captured_us": 161.5},
            call(4, "cudaLaunchKernel", 200, 202, tid=PID), kernel(4, "d", 9000, 17000)]


MODEL_ROWS = [row("Net#2", 2, 1, root="Net#2"), row("attn", 1, 1, calls=3, root="Net#2"),
              row("mlp", 4, 1)]


def model_outcome(events=None, rows=None, outside=(8, 1), **facts):
    return outcome(model_events() if events is None else events,
                   {"layer_calls": {"attn": 3}, "nodes_outside": 0, "layers_in_graph": 1, **facts},
                   {"layers": MODEL_ROWS if rows is None else rows, "layers_outside": {
                       "gpu_ms": outside[0], "kernels": outside[1]}})


def failures(check, result):
    return [what for what, _, _, right in check(result) if not right]


def test_every_kernel_is_some_layers_or_outside():
    check = m.layers
    assert not failures(check, model_outcome())
    assert failures(check, model_outcome(outside=(7.8, 1))) == ["layers + outside, ms"]
    assert failures(check, model_outcome(outside=(8, 2))) == ["kernels of all",
                                                              "kernels by layer"]
    moved = [row("Net", 2, 0), row("attn", 1, 2), row("mlp", 4, 1)]
    assert failures(check, model_outcome(rows=moved)) == ["kernels by layer"]
    assert "layers" in failures(check, model_outcome(events=[], rows=[], outside=(0, 0)))


def test_calls_of_layers_are_those_of_the_program():
    assert not failures(m.layer_calls, model_outcome())
    assert failures(m.layer_calls, model_outcome(layer_calls={"attn": 2}))


def test_layers_are_those_of_the_profiler():
    def span(category, name, start, end, **arguments):
        return {"ph": "X", "cat": category, "name": name, "ts": start, "dur": end - start,
                "tid": 7, "args": arguments}
    trace = {"traceEvents": [
        span("user_annotation", "layer Attn", 110, 150),
        span("user_annotation", "layer Mlp", 160, 190),
        span("user_annotation", "layer Net", 100, 200), span("user_annotation", "other", 0, 500),
        span("cpu_op", "aten::mm", 112, 115, **{"External id": 1}),
        span("cpu_op", "aten::mm", 155, 158, **{"External id": 2}),
        span("cpu_op", "aten::mm", 170, 175, **{"External id": 3}),
        span("cpu_op", "aten::mm", 210, 215, **{"External id": 4}),
        *(span("kernel", "k", 400, 500, **{"External id": number}) for number in (1, 2, 3, 4))]}
    layers = gpu_events.layers_of_kineto(trace)
    assert layers == {"Attn": 1, "Net": 1, "Mlp": 1, "": 1}
    trace["traceEvents"] += [span("cuda_runtime", "cudaLaunchKernel", 130, 132, correlation=9),
                             span("kernel", "k", 400, 500, correlation=9)]
    assert gpu_events.layers_of_kineto(trace) == {**layers, "Attn": 2}

    def judged(layers):
        counts = gpu_events.Counts({}, {}, 0, 0, layers)
        return failures(m.profiler_layers, model_outcome()._replace(counts=counts))
    assert not judged(layers)
    assert judged({**layers, "Attn": 2}) and judged({})


def test_nodes_of_graphs_have_the_layer_of_their_capture():
    check = m.graph_layers
    assert not failures(check, model_outcome())
    assert failures(check, model_outcome(nodes_outside=1)) == ["nodes with a layer"]
    assert failures(check, model_outcome(layers_in_graph=2)) == ["their layers"]
    assert failures(check, model_outcome(events=model_events()[:5])) == ["nodes with a layer",
                                                                        "their layers"]


def test_the_compiler_does_what_it_does_alone():
    alone = {"compilations": ["0/0", "0/1"], "counters": {"frames: ok": 2}}

    def judged(told, events):
        result = outcome(events, {"dynamo": told})
        result = result._replace(plain_truth={**result.plain_truth, "dynamo": alone})
        return failures(m.dynamo, result)
    both = scoped("torch: compile", 1, 10, 20) + scoped("torch: compile", 2, 30, 40)
    assert not judged(alone, both)
    assert judged({**alone, "compilations": ["0/0", "1/0"]}, both) == ["compilations"]
    assert judged({**alone, "counters": {"frames: ok": 1}}, both) == ["dynamo's counters"]
    assert judged(alone, both[:2]) == ["compilations recorded"]


def test_batches_are_loaded_by_workers_and_waited_for():
    def judged(loads, waits, pids):
        events = [event for nth in range(loads)
                  for event in scoped("torch: DataLoader load", nth, 1, 2)]
        events = [{**event, "pid": 80} for event in events]
        events += [event for nth in range(waits)
                   for event in scoped("torch: DataLoader wait", 50 + nth, 3, 4)]
        result = outcome(events, {"loaded": [[80, 2]], "pid": PID},
                         {"processes": [{"pid": pid} for pid in pids]})
        return failures(m.loading, result)
    assert not judged(2, 2, [PID, 80])
    assert judged(1, 2, [PID, 80]) == judged(2, 1, [PID, 80]) == ["loads and waits"]
    assert judged(2, 2, [PID]) == ["worker processes"]


def test_ranges_of_nvtx_are_counted():
    begins = [{**event, "nvtx": {"domain": ""}} for nth in range(2)
              for event in scoped("pushed", nth, 1, 2)]
    assert not failures(m.nvtx, outcome(begins, {"ranges": {"pushed": 2}}))
    for wrong in (begins[2:], scoped("pushed", 1, 1, 2)):
        assert failures(m.nvtx, outcome(wrong, {"ranges": {"pushed": 2}}))


def test_layers_is_a_word_for_all_that_looks_into_models():
    names = {case.name for case in check.CASES if check.chosen(case, ["layers"])}
    assert {"gpt2_decode", "gpt2_compile", "gpt2_reduced", "gpt2_graph", "graph_decode",
            "resnet50", "dataloader", "autocast", "torch_nvtx"} <= names
    assert "native" not in names
