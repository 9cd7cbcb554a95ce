"""Traces of other tools: what becomes of them in a report."""

import gzip
import json

import pytest
import zstandard


def complete(name, cat, ts, dur, tid=10, pid=10, **args):
    return {"ph": "X", "name": name, "cat": cat, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
            "args": args}


def kineto(steps=4):
    """Steps of 100 us: an operator launches a kernel of 20 us, and a copy is waited for."""
    events = []
    for i in range(steps):
        at = 1000 + 100 * i
        work = {"device": 0, "context": 1, "stream": 7}
        events += [
            complete("ProfilerStep#%d" % i, "user_annotation", at, 90),
            complete("serve.py(12): infer", "python_function", at + 1, 80),
            complete("nn.Module: Net_0", "python_function", at + 2, 30),
            complete("aten::mm", "cpu_op", at + 3, 20),
            complete("cudaLaunchKernel", "cuda_runtime", at + 4, 5, correlation=10 * i + 1),
            complete("gemm", "kernel", at + 10, 20, tid=7, pid=0, correlation=10 * i + 1,
                     grid=[2, 1, 1], block=[128, 1, 1], **work),
            complete("cudaMemcpyAsync", "cuda_runtime", at + 40, 5, correlation=10 * i + 2),
            complete("Memcpy DtoH (Device -> Pageable)", "gpu_memcpy", at + 45, 5, tid=7, pid=0,
                     correlation=10 * i + 2, bytes=4096, **work),
            complete("cudaStreamSynchronize", "cuda_runtime", at + 46, 30, correlation=10 * i + 3),
            {"ph": "s", "id": 10 * i + 1, "pid": 10, "tid": 10, "ts": at + 4, "cat": "ac2g",
             "name": "ac2g"},
        ]
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA Test"}],
            "traceEvents": events}


@pytest.fixture
def report(inferscope, work):
    """The report of a trace that is given as bytes, text or what JSON can say."""
    def run(content, name="trace.json", warning="", detail="full"):
        if not isinstance(content, (bytes, str)):
            content = json.dumps(content)
        if isinstance(content, str):
            content = content.encode()
        (work / name).write_bytes(content)
        done = inferscope("analyze", "--quiet", name, "--report", "r.json", "--detail", detail)
        assert done.returncode == 0, done.stderr
        assert warning in done.stderr if warning else done.stderr == ""
        return json.loads((work / "r.json").read_text())
    return run


def notes_of(result):
    return "\n".join(result["trust"]["notes"])


def test_kineto(report):
    result = report(kineto())
    gpu = result["gpu"]
    assert [(k["name"], k["count"], k["ms"]) for k in gpu["kernels"]] == [("gemm", 4, 0.08)]
    assert [(c["kind"], c["source"], c["destination"], c["bytes"], c["async"])
            for c in gpu["copies"]] == [("D2H", "device", "pageable", 16384, True)]
    assert gpu["devices"][0]["name"] == "NVIDIA Test"
    assert (gpu["span_ms"], gpu["busy_ms"]) == (0.34, 0.1)
    assert result["trust"]["unmatched_activities"] == 0
    step = result["steps"][0]
    assert (step["name"], step["source"], step["count"], step["p50_ms"]) == (
        "ProfilerStep", "scope", 4, 0.09)
    assert [layer["name"] for layer in result["layers"]] == ["Net"]
    assert [(line["function"], line["file"], line["line"], line["launches"])
            for line in gpu["lines"]] == [("infer", "serve.py", 12, 8)]
    functions = {f["name"]: f for f in result["cpu"]["functions"]}
    assert functions["aten::mm"]["calls"] == 4
    assert "Imported from Kineto JSON (40 events)" in notes_of(result)
    assert "4 of 40 events have no counterpart here: ac2g 4" in notes_of(result)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_packed_whatever_the_name(report, pack):
    assert report(pack(json.dumps(kineto()).encode()), "trace.bin") == report(kineto())


def test_several_members_are_one_text(report):
    text = json.dumps(kineto()).encode()
    assert report(gzip.compress(text[:700]) + gzip.compress(text[700:])) == report(text)




def test_times_are_exact(report):
    """A double has no room for microseconds since 1970 and three decimals."""
    events = ('{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7,'
              '"ts": 1712195495505583.001, "dur": 0.001, "args": {"device": 0}},'
              '{"ph": "X", "cat": "Kernel", "name": "k", "pid": 0, "tid": "stream 7",'
              '"ts": "1712195495505583.004", "dur": "1e-3"}]}')
    gpu = report(events)["gpu"]
    assert (gpu["span_ms"], gpu["busy_ms"], gpu["idle_ms"]) == (0.000004, 0.000002, 0.000002)
    assert [stream["stream_id"] for stream in gpu["streams"]] == [0, 7] or \
        [stream["stream_id"] for stream in gpu["streams"]] == [7]
