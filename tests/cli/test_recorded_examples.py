"""What a recording of the examples says is true: held against what they measured themselves."""

import json
import os
import statistics
import sys

import pytest

PYTHONS = os.environ.get("INFERSCOPE_PYTHONS", sys.executable).split(":")


@pytest.fixture
def record(inferscope, root, work):
    """Records every call of an example; returns what it printed and the report."""
    def run(python, name, *arguments):
        done = inferscope("run", "--quiet", "--cpu", "trace", "--python", python,
                          "--report", "r.json",
                          os.path.join(root, "examples", name), *arguments, timeout=240)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout, json.loads((work / "r.json").read_text())
    return run


@pytest.fixture
def recorded_scopes(inferscope, work):
    """[(enter, exit)] of every scope in the trace that `record` left."""
    def read():
        done = inferscope("export", "inferscope-trace.isc", "--to", "json", "-o", "e.json")
        assert done.returncode == 0, done.stderr
        events = json.loads((work / "e.json").read_text())["events"]
        enters = {e["instance"]: e for e in events if e["event_type"] == "scope_enter"}
        exits = {e["instance"]: e for e in events if e["event_type"] == "scope_exit"}
        assert enters.keys() == exits.keys()
        return [(enters[instance], exits[instance]) for instance in enters]
    return read


@pytest.mark.parametrize("python", PYTHONS)
def test_interleaved_requests_keep_their_own_latencies(python, record, recorded_scopes, work):
    _, report = record(python, "asyncio_server.py", "--requests", "100", "--latencies", "own.json")
    own_ms = {int(i): ms for i, ms in json.loads((work / "own.json").read_text()).items()}
    step = report["steps"][0]
    assert (step["name"], step["count"]) == ("request", 100)
    assert report["trust"]["dropped"] == 0

    beyond_ms = []
    for enter, leave in recorded_scopes():
        if enter["name"] == "request":
            latency_ms = (leave["start_us"] - enter["start_us"]) / 1000
            beyond_ms.append(latency_ms - own_ms.pop(enter["args"]["id"]))
    assert own_ms == {}, "requests without a scope"
    # A scope spans the program's own measurement; mixed-up requests would be off by 10 ms either
    # way.  A busy machine may make any request longer, but not most of them by chance.
    assert min(beyond_ms) > -1
    assert statistics.median(beyond_ms) < 5


def test_scopes_nest_within_their_task(record, recorded_scopes):
    record(sys.executable, "asyncio_server.py", "--requests", "100")
    scopes = recorded_scopes()
    requests = {enter["task"]: (enter["start_us"], leave["start_us"])
                for enter, leave in scopes if enter["name"] == "request"}
    assert len(requests) == 100
    inner = [(enter, leave) for enter, leave in scopes if enter["name"] != "request"]
    assert len(inner) >= 200
    for enter, leave in inner:
        start_us, end_us = requests[enter["task"]]
        assert start_us <= enter["start_us"] <= leave["start_us"] <= end_us


def test_the_demo_reports_its_steps(record):
    pytest.importorskip("torch")
    stdout, report = record(sys.executable, "torch_cpu_inference.py", "--requests", "12")
    assert stdout.startswith("12 requests in ")
    steps = {step["name"]: step for step in report["steps"]}
    assert report["steps"][0]["name"] == "request"
    for name in ("request", "preprocess", "model", "postprocess"):
        assert steps[name]["count"] == 12
    parts = sum(steps[name]["total_ms"] for name in ("preprocess", "model", "postprocess"))
    assert 0 < parts <= steps["request"]["total_ms"]
    functions = {function["name"].split(".")[-1] for function in report["cpu"]["functions"]}
    assert {"normalize", "subwords", "token_id"} <= functions
