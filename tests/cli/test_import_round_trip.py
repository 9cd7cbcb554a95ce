"""What is exported as JSON and imported again gives the same figures."""

import json
import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))
from nsys_file import GRAPH, Export, global_pid, service  # noqa: E402

EXAMPLES = ["h200_encoder", "h200_gpt2_decode", "h200_resnet50", "h200_two_streams"]
# What the export does not carry: memory, threads without calls of their own, samples.
GPU_KEYS = ["kernels", "copies", "memsets", "span_ms", "busy_ms", "idle_ms", "streams", "calls",
            "lines", "syncs", "devices", "first_ms", "cuda_graphs"]
STEP_KEYS = ["name", "source", "count", "warmup", "mean_ms", "p50_ms", "p95_ms", "p99_ms"]


def reports(inferscope, work, trace, to="json"):
    assert inferscope("export", trace, "--to", to, "-o", "e.json").returncode == 0
    result = []
    for source, name in ((trace, "a.json"), ("e.json", "b.json")):
        done = inferscope("analyze", "--quiet", source, "--report", name, "--detail", "full")
        assert (done.returncode, done.stderr) == (0, "")
        result.append(json.loads((work / name).read_text()))
    return result


@pytest.mark.parametrize("name", EXAMPLES)
def test_recorded_on_a_gpu(inferscope, root, work, name):
    before, after = reports(inferscope, work, os.path.join(root, "examples/traces", name + ".isc"))
    for key in GPU_KEYS:
        assert after["gpu"][key] == before["gpu"][key], key
    assert after["verdict"] == before["verdict"]
    assert [f["id"] for f in after["findings"]] == [f["id"] for f in before["findings"]]
    for old, new in zip(before["steps"], after["steps"]):
        assert {key: new[key] for key in STEP_KEYS} == {key: old[key] for key in STEP_KEYS}
        assert new["gpu"] == old["gpu"]
    assert after["run"]["command"] == before["run"]["command"]
    assert after["run"]["wall_ms"] == before["run"]["wall_ms"]
    for key in ("unmatched_launches", "unmatched_activities", "causality_violations"):
        assert after["trust"][key] == before["trust"][key]
    assert any("Imported from InferScope JSON" in note for note in after["trust"]["notes"])


@pytest.mark.parametrize("name", EXAMPLES)
def test_through_chrome_json(inferscope, root, work, name):
    trace = os.path.join(root, "examples/traces", name + ".isc")
    before, after = reports(inferscope, work, trace, "chrome")
    old, new = before["gpu"], after["gpu"]
    for key in ("memsets", "span_ms", "busy_ms", "idle_ms", "streams", "calls", "lines", "syncs"):
        assert new[key] == old[key], key
    names = ("name", "full_name", "count", "ms")
    assert [[k[n] for n in names] for k in new["kernels"]] == [
        [k[n] for n in names] for k in old["kernels"]]
    names = ("kind", "source", "destination", "count", "bytes", "ms")
    assert [[c[n] for n in names] for c in new["copies"]] == [
        [c[n] for n in names] for c in old["copies"]]
    for x, y in zip(before["steps"], after["steps"]):
        assert {key: y[key] for key in STEP_KEYS} == {key: x[key] for key in STEP_KEYS}
    assert after["verdict"]["bound"] == before["verdict"]["bound"]


def test_functions_layers_and_counters(inferscope, work):
    """From the JSON alone: no recording is needed."""
    def event(kind, name, start, end=None, thread=1, **more):
        times = {"start_us": start} if end is None else {"start_us": start, "end_us": end}
        return {"event_type": kind, "name": name, **times, "pid": 7, "tid": 70, "thread": thread,
                **more}
    layer = {"root": "Net", "layer_id": 3, "self_us": 1, "depth": 0}
    events = [
        event("scope_enter", "step", 0, instance=1, args={}),
        event("cpu_function", "main", 0, 100, file="/w/a.py", line=3, self_us=60, depth=0),
        event("layer", "Net", 10, 50, **{**layer, "class": "Net"}),
        event("layer", "fc.0", 20, 40, **{**layer, "class": "Linear"}),
        event("cpu_function", "leaf", 20, 39.5, file="/w/b.py", line=9, self_us=19.5, depth=1),
        event("counter", "queue", 30, value=4.5),
        event("instant", "here", 40, args={}),
        event("cpu_function", "sampled only", 1, 2, file="", line=0, sampled=True),
        event("counter", "rss", 30, value=4, unit="bytes", nature="gauge"),
        event("scope_exit", "step", 80, thread=2, instance=1),
        event("scope_enter", "open", 90, instance=2, args={}),
    ]
    run = {"version": "0", "schema": 1, "wall_us": 250.125, "info": [
        {"key": "command", "value": "serve.py"}, {"key": "import.format", "value": "x"}],
        "notes": ["a note"], "processes": [{"id": 1, "pid": 7, "name": "serve"}],
        "threads": [{"id": 1, "process": 1, "pid": 7, "tid": 70, "name": "MainThread"}]}
    for text in ({"inferscope": run, "events": events}, {"events": events, "inferscope": run}):
        (work / "e.json").write_text(json.dumps(text))
        done = inferscope("analyze", "--quiet", "e.json", "--report", "r.json")
        assert (done.returncode, done.stderr) == (0, "")
        report = json.loads((work / "r.json").read_text())
        assert {(f["name"], f["calls"], f["total_ms"], f["self_ms"])
                for f in report["cpu"]["functions"]} == {
                    ("main", 1, 0.1, 0.0805), ("leaf", 1, 0.0195, 0.0195)}
        assert [(entry["name"], entry["calls"]) for entry in report["layers"]] == [
            ("Net", 1), ("fc.0", 1)]
        assert [(c["name"], c["last"]) for c in report["cpu"]["counters"]] == [("queue", 4.5)]
        steps = {step["name"]: step["p50_ms"] for step in report["steps"]}
        assert steps["step"] == 0.08
        assert report["run"]["wall_ms"] == 0.250125
        assert report["run"]["command"] == ["serve.py"]
        assert "a note" in report["trust"]["notes"]
        assert "2 of 11 events have no counterpart here" in "\n".join(report["trust"]["notes"])


SHARED = next((os.path.abspath(folder) for folder in (
    os.path.join(os.path.dirname(__file__), "../../../shared/traces"), "/work/shared/traces")
    if os.path.isdir(folder)), None)
FOREIGN = ["kineto_b200_eager_step.json.gz", "kineto_mi300_vllm_decode_graph.json.gz",
           "kineto_mi250_minitoy.json.gz", "kineto_2021_resnet50_dataloader.json.gz",
           "nsys_a100_cloverleaf_2024.sqlite", "nsys_h200_2024.sqlite",
           "nsys_2020_no_version.sqlite",
           "viztracer_asyncio.json", "chrome_array_unclosed.json"]
FOREIGN_KEYS = ["kernels", "copies", "memsets", "graphs", "span_ms", "busy_ms", "idle_ms",
                "streams", "calls", "syncs"]


@pytest.mark.skipif(not SHARED, reason="no shared/traces beside the checkout")
@pytest.mark.parametrize("to", ["json", "chrome"])
@pytest.mark.parametrize("name", FOREIGN)
def test_traces_of_other_tools(inferscope, work, name, to):
    before, after = reports(inferscope, work, os.path.join(SHARED, name), to)
    assert {key: after["gpu"][key] for key in FOREIGN_KEYS if key in before["gpu"]} == {
        key: before["gpu"][key] for key in FOREIGN_KEYS if key in before["gpu"]}
    assert [(s["name"], s["count"], s["p50_ms"]) for s in after["steps"]] == [
        (s["name"], s["count"], s["p50_ms"]) for s in before["steps"]]
    assert after["verdict"]["bound"] == before["verdict"]["bound"]


@pytest.mark.parametrize("to", ["json", "chrome"])
def test_whole_graphs(inferscope, work, to):
    e = Export(work / "t.sqlite")
    service(None, export=e)
    e.call("cudaGraphLaunch_v10000", 2000000, 2001000, 900)
    e.add(GRAPH, start=2005000, end=2025000, deviceId=0, contextId=1, streamId=7,
          correlationId=900, globalPid=global_pid(10), graphId=3)
    e.close()
    before, after = reports(inferscope, work, "t.sqlite", to)
    assert before["gpu"]["graphs"] == {"count": 1, "ms": 0.02}
    for key in FOREIGN_KEYS:
        assert after["gpu"][key] == before["gpu"][key], key
