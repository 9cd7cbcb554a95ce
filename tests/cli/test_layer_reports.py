"""Layers of a model, through the real program: report.json, exports, and what is no step."""

import json
import os
import sys

import jsonschema
import pytest

import isc_encode as isc

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../python"))

import isc_decode  # noqa: E402
import trace_facts  # noqa: E402

NET, BLOCK, FC, LAUNCH, KERNEL, WAIT, STEP = range(50, 57)


def enter(time_ns, correlation):
    return isc.CUDA_ENTER, LAUNCH, time_ns, isc.varints(1, correlation, 0, 0)


def kernel(start_ns, duration_ns, correlation):
    fields = isc.varints(start_ns + isc.MONOTONIC_NS, duration_ns, 0, 1, 7, correlation)
    return isc.GPU_KERNEL, KERNEL, 9_000, fields + isc.varints(*[1] * 11)


def model_trace(*more):
    begin = isc.varints(1, 0)
    return b"".join([
        isc.header(), isc.process(1, 77, "app.py", 0, 10_000),
        isc.thread(1, 1, 77, "MainThread", 0, 10_000, produced=18),
        isc.thread(2, 1, 78, "cupti", 0, 10_000, produced=3),
        isc.layer(NET, 0, "Net"), isc.layer(BLOCK, NET, "Block", "h.0"),
        isc.layer(FC, NET, "Li|n\x1bear", "h.0.f`c"),
        isc.string(LAUNCH, "cudaLaunchKernel"), isc.string(KERNEL, "gemm"),
        isc.string(WAIT, "torch: DataLoader wait"), isc.string(STEP, "step"), *more,
        isc.events(1, 0,
                   (isc.SCOPE_BEGIN, WAIT, 100, begin), (isc.SCOPE_END, WAIT, 900, begin),
                   enter(910, 1), (isc.CUDA_EXIT, 1, 920, None),
                   (isc.LAYER_BEGIN, NET, 1_000, None), (isc.LAYER_BEGIN, BLOCK, 1_100, None),
                   enter(1_200, 2), (isc.CUDA_EXIT, 2, 1_210, None),
                   (isc.LAYER_BEGIN, FC, 1_300, None),
                   enter(1_400, 3), (isc.CUDA_EXIT, 3, 1_410, None),
                   (isc.LAYER_END, FC, 1_500, None), (isc.LAYER_END, BLOCK, 1_600, None),
                   (isc.LAYER_END, NET, 2_000, None), (isc.LAYER_END, FC, 2_100, None),
                   (isc.LAYER_BEGIN, NET, 3_000, None), (isc.LAYER_BEGIN, FC, 3_100, None),
                   (isc.LAYERS_FOLDED, FC, 3_200, None)),
        isc.events(2, 0, kernel(2_000, 10, 1), kernel(2_100, 20, 2), kernel(2_200, 40, 3)),
        isc.end(10_000),
    ])


@pytest.fixture
def report(work, inferscope, root):
    with open(os.path.join(root, "docs/schema/report.schema.json")) as file:
        schema = jsonschema.Draft202012Validator(json.load(file))

    def read(data):
        (work / "run.isc").write_bytes(data)
        done = inferscope("analyze", "run.isc", "--report", "out.json", "--report", "out.md")
        assert done.returncode == 0, done.stderr
        result = json.loads((work / "out.json").read_text())
        schema.validate(result)
        return result
    return read


def test_report_json_has_each_layer_and_what_is_outside(report):
    told = report(model_trace())
    assert told["layer_count"] == 3
    net, block, fc = told["layers"]
    assert net == {"name": "Net", "class": "Net", "root": "Net", "pid": 77, "depth": 0,
                   "calls": 2, "cpu_ms": 0.008, "self_cpu_ms": 0.0075, "gpu_ms": 0.00006,
                   "self_gpu_ms": 0, "kernels": 2, "self_kernels": 0, "launch_gap_ms": 0.00008,
                   "folded": False}
    assert (block["name"], block["depth"], block["self_gpu_ms"]) == ("h.0", 1, 0.00002)
    assert (fc["calls"], fc["folded"], fc["self_gpu_ms"]) == (1, True, 0.00004)
    assert told["layers_outside"] == {"gpu_ms": 0.00001, "kernels": 1}


def test_scopes_of_the_agent_are_no_steps(report):
    told = report(model_trace())
    assert [(s["name"], s["source"]) for s in told["steps"]] == [(
        "from the GPU's first work to its last", "whole-run")]
    told = report(model_trace(isc.string(WAIT, "torch:DataLoader")))  # the user's own
    assert [s["name"] for s in told["steps"]] == ["torch:DataLoader"]


def test_exported_layers_are_those_of_the_file(work, exported):
    (work / "run.isc").write_bytes(model_trace())
    layers = [e for e in exported("run.isc")["events"] if e["event_type"] == "layer"]
    assert [(e["name"], e["class"], e["start_us"], e["end_us"], e["self_us"], e["depth"])
            for e in layers] == [("h.0.f`c", "Li|n\x1bear", 1.3, 1.5, 0.2, 2),
                                 ("h.0", "Block", 1.1, 1.6, 0.3, 1),
                                 ("Net", "Net", 1.0, 2.0, 0.5, 0),
                                 ("Net", "Net", 3.0, 10.0, 7.0, 0)]
    assert [e.get("open_end") for e in layers] == [None, None, None, True]
    assert {e["root"] for e in layers} == {"Net"}


def test_two_readers_see_the_same_layers(work, inferscope):
    (work / "run.isc").write_bytes(model_trace())
    done = inferscope("export", "run.isc", "--to", "json")
    told = trace_facts.facts_of_export(trace_facts.load_export(done.stdout))
    known = trace_facts.facts_of_trace(isc_decode.load(str(work / "run.isc")))
    assert known["events"] == told["events"]
    assert sum(event[0] == "layer" for event in known["events"][1]) == 4
