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
    return {"schemaVersion": 1, "cupti_version": 22, "distributedInfo": {"rank": 3},
            "deviceProperties": [{"id": 0, "name": "NVIDIA Test"}],
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
    assert "Imported from Kineto JSON (40 events; CUPTI 22; rank 3)" in notes_of(result)
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


def spans(result):
    return {f["name"]: (f["calls"], f["total_ms"]) for f in result["cpu"]["functions"]}


def test_begin_and_end(report):
    """An end closes the innermost begin of its thread, whatever the two are called."""
    result = report([
        {"ph": "B", "name": "outer", "ts": 10, "pid": 1, "tid": 1},
        {"ph": "B", "name": "inner", "ts": 20, "pid": 1, "tid": 1},
        {"ph": "B", "name": "other", "ts": 25, "pid": 1, "tid": 2},
        {"ph": "E", "name": "another name", "ts": 30, "pid": 1, "tid": 1},
        {"ph": "E", "ts": 50, "pid": 1, "tid": 1},
        {"ph": "E", "ts": 60, "pid": 1, "tid": 1},
        {"ph": "X", "name": "last", "ts": 90, "dur": 10, "pid": 1, "tid": 2},
    ])
    assert spans(result) == {"outer": (1, 0.04), "inner": (1, 0.01), "other": (1, 0.075),
                             "last": (1, 0.01)}
    assert "1 events end something that never began" in notes_of(result)
    assert "1 events begin something that never ends" in notes_of(result)


def test_asynchronous_operations_are_scopes(report):
    def event(phase, ts, name="request", identity="0x7", **more):
        return {"ph": phase, "ts": ts, "name": name, "id": identity, "cat": "net", "pid": 1,
                "tid": 1, **more}
    events = []
    for i in range(6):
        start = 100 * i
        events += [event("b", start, identity=str(i)), event("b", start + 10, "part", str(i)),
                   event("n", start + 15, "moment", str(i)),
                   event("e", start + 20, "part", str(i)),
                   event("e", start + 150, identity=str(i), tid=2)]
    result = report(events)
    steps = {step["name"]: (step["count"], step["p50_ms"]) for step in result["steps"]}
    assert steps["request"] == (6, 0.15)


def test_counters_and_names(report):
    result = report({"traceEvents": [
        {"ph": "M", "name": "process_name", "pid": "main", "args": {"name": "server"}},
        {"ph": "M", "name": "thread_name", "pid": "main", "tid": "t1", "args": {"name": "worker"}},
        {"ph": "C", "name": "queue", "ts": 1, "pid": "main", "tid": "t1", "args": {"length": 3}},
        {"args": {"a": 1, "b": 2.5}, "name": "two", "ts": 1, "pid": "main", "tid": "t1",
         "ph": "C"},
        {"ph": "X", "name": "work", "ts": 1, "dur": 2, "pid": "main", "tid": "t1"},
    ]})
    assert {c["name"]: c["last"] for c in result["cpu"]["counters"]} == {
        "queue": 3, "two.a": 1, "two.b": 2.5}
    assert [p["name"] for p in result["processes"]] == ["server"]
    assert [t["name"] for t in result["cpu"]["threads"]] == ["worker"]


def test_viztracer_names_have_file_and_line(report):
    result = report({"viztracer_metadata": {"version": "1.0"}, "traceEvents": [
        complete("fib (/home/me/fib.py:7)", "FEE", 1, 5),
        complete("time.sleep", "fee", 2, 1), complete("odd (a:b)", "FEE", 3, 1)]})
    assert {(f["name"], f["file"], f["line"]) for f in result["cpu"]["functions"]} == {
        ("fib", "/home/me/fib.py", 7), ("time.sleep", "", 0), ("odd (a:b)", "", 0)}
    assert "Imported from VizTracer JSON" in notes_of(result)


def test_spans_that_overlap_are_cut_and_counted(report):
    result = report([complete("a", "x", 0, 100), complete("b", "x", 50, 100)])
    assert spans(result) == {"a": (1, 0.1), "b": (1, 0.05)}
    assert "1 spans outlasted the span around them" in notes_of(result)


def test_two_calls_with_one_correlation_and_a_graph(report):
    """The runtime's call and the driver's inside it; one launch of many kernels."""
    work = {"device": 0, "context": 1, "stream": 7, "correlation": 5}
    result = report([
        complete("cudaGraphLaunch", "cuda_runtime", 0, 20, correlation=5),
        complete("cuGraphLaunch", "cuda_driver", 5, 10, correlation=5),
        *(complete("k%d" % (i % 2), "kernel", 10 + 10 * i, 5, tid=7, pid=0, **work)
          for i in range(50)),
        complete("alone", "kernel", 900, 5, tid=7, pid=0, device=0, stream=7, correlation=77)])
    assert result["trust"]["unmatched_activities"] == 1
    assert sum(k["count"] for k in result["gpu"]["kernels"]) == 51


def test_running_numbers_are_one_kind_of_step(report):
    events = [complete("iteration %d" % i, "user_annotation", 100 * i, 50) for i in range(12)]
    events += [complete("layer %d" % (i % 3), "user_annotation", 100 * (i // 3) + 10 * (i % 3), 5)
               for i in range(36)]
    names = {step["name"]: step["count"] for step in report(events)["steps"]}
    assert names["iteration #"] == 12
    assert names["layer 0"] == 12


def test_values_of_wrong_types_are_survived(report):
    text = """{"traceEvents": [
      {"ph": "X", "name": {"a": [1]}, "cat": ["kernel"], "pid": [], "tid": null, "ts": 1, "dur": 1},
      {"ph": "X", "name": 7, "ts": "1", "dur": "x", "args": 5},
      {"ph": 5, "ts": 1}, {"ts": 1}, 5, "x", [], null,
      {"ph": "X", "name": "back", "ts": 20, "dur": -10, "pid": 1, "tid": 1},
      {"ph": "X", "name": "none", "ts": 20, "pid": 1, "tid": 1},
      {"ph": "X", "name": "far", "ts": 1e300, "dur": 1},
      {"ph": "X", "name": "nan", "ts": NaN, "dur": Infinity},
      {"ph": "X", "ph": "X", "name": "twice", "name": "last", "ts": 1, "ts": 30, "dur": 2,
       "pid": 9223372036854775808, "tid": -1},
      {"ph": "X", "cat": "kernel", "name": "k", "ts": 5, "dur": 3, "args":
        {"correlation": 99999999999999999999, "grid": "[2, 3, 4]", "stream": "0x0", "block": {},
         "device": -1, "bytes": "9216"}}
    ]}"""
    result = report(text)
    functions = spans(result)
    assert functions["last"] == (1, 0.002)
    assert functions["back"] == (1, 0) and functions["none"] == (1, 0)
    assert "far" not in functions and "nan" not in functions
    assert [k["ms"] for k in result["gpu"]["kernels"]] == [0.003]
    notes = notes_of(result)
    assert "have no usable time" in notes and "negative duration" in notes
    assert "have no phase" in notes


def test_two_clocks_days_apart(report):
    result = report([complete("now", "x", 1712195495505583, 10), complete("then", "x", 5, 10)])
    assert spans(result) == {"now": (1, 0.01), "then": (1, 0.01)}



def test_an_array_may_end_early(report):
    events = [complete("f%d" % i, "x", i * 10, 5) for i in range(3)]
    text = json.dumps(events)
    assert len(spans(report(text[:-1]))) == 3
    assert len(spans(report(text[:-1] + ","))) == 3
    result = report(text[:-20], warning="the text ends too early")
    assert len(spans(result)) == 2


def test_what_ends_too_early_is_partial(report):
    text = json.dumps(kineto(50))
    result = report(text[:len(text) // 2], warning="the report is partial")
    assert 20 < sum(k["count"] for k in result["gpu"]["kernels"]) < 30
    packed = gzip.compress(json.dumps(kineto(2000)).encode())
    result = report(packed[:len(packed) // 2], warning="the compressed data ends too early")
    assert 500 < sum(k["count"] for k in result["gpu"]["kernels"]) < 1500
    wrong_sum = packed[:-8] + bytes([packed[-8] ^ 1]) + packed[-7:]
    report(wrong_sum, warning="broken gzip data at byte")


@pytest.mark.parametrize("name, content, says", [
    ("x.pb", b"\x0a\x80\x01\x12/host:CPU XPlane" + bytes(50), "XPlane protobuf"),
    ("x.zip", b"PK\x03\x04" + bytes(40), "a zip archive; it cannot be imported: unpack it"),
    ("x.json", b'{"rocprofiler-sdk-tool": [{"metadata": {}}]}', "rocprofv3"),
    ("x.json", b'{"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": [{"id": 1}]}',
     "execution trace"),
    ("x.json", b'{"a": 1}', 'it has no "traceEvents"'),
    ("x.json", b"[]", "has no events"),
    ("x.json", b'{"traceEvents": 7}', 'it has no "traceEvents"'),
    ("x.json", b'{"traceEvents": [{"ph": "X", "ts": 01}]}', "not a value at byte 35"),
    ("x.json", b'[{"ph": "X"}}', "unexpected character at byte 12"),
    ("x.json", b'{"traceEvents": []} x', "something follows the end of the JSON text at byte 20"),
    ("x.json", b"[" * 100000, "nested more than 65,536 deep at byte 65536"),
    ("x.json", b'{"a":' * 100000, "nested more than 65,536 deep"),
    ("x.gz", gzip.compress(b"", mtime=0), "is empty after unpacking"),
    ("x.gz", gzip.compress(gzip.compress(b"[]", mtime=0), mtime=0), "packed twice"),
    ("x.txt", b"hello", "is not an InferScope trace"),
    ("x.qdrep", b"\x89QDREP\r\n" + bytes(40), "nsys export --type sqlite"),
])
def test_refused_in_one_line(refused, work, name, content, says):
    (work / name).write_bytes(content)
    assert says in refused("analyze", name, status=1)


def test_a_packed_trace_of_our_own(inferscope, root, work):
    import os
    trace = os.path.join(root, "examples/traces/h200_encoder.isc")
    with open(trace, "rb") as file:
        (work / "t.gz").write_bytes(gzip.compress(file.read()))
    assert inferscope("analyze", "--quiet", trace, "--report", "a.json").returncode == 0
    assert inferscope("analyze", "--quiet", "t.gz", "--report", "b.json").returncode == 0
    assert (work / "a.json").read_text() == (work / "b.json").read_text()


def test_max_memory_gives_a_part(report, inferscope, work):
    (work / "big.json").write_text(json.dumps(kineto(20000)))
    done = inferscope("analyze", "--quiet", "big.json", "--max-memory", "8M", "--report", "r.json")
    assert done.returncode == 0, done.stderr
    assert "only its first" in done.stderr and "--max-memory" in done.stderr
    kernels = sum(k["count"] for k in json.loads((work / "r.json").read_text())["gpu"]["kernels"])
    assert 100 < kernels < 20000


def test_other_commands_take_it_too(inferscope, work):
    (work / "t.json").write_text(json.dumps(kineto()))
    done = inferscope("export", "t.json", "--to", "folded")
    assert done.returncode == 0 and "infer" in done.stdout


def test_stacks_of_any_depth(report):
    """Every launch lies one function deeper than the one before."""
    events = []
    for i in range(3000):
        events += [complete("a.py(%d): f%d" % (i, i), "python_function", i, 100000 - i),
                   complete("cudaLaunchKernel", "cuda_runtime", i, 0, correlation=i + 1),
                   complete("k", "kernel", i + 1, 1, tid=7, pid=0, device=0, stream=7,
                            correlation=i + 1)]
    result = report(events)
    assert sum(k["count"] for k in result["gpu"]["kernels"]) == 3000
    assert "spans were nested more than 2048 deep and were omitted" in notes_of(result)


def test_a_string_without_end_and_one_of_many_megabytes(report):
    long = '[{"ph":"X","name":"%s","ts":1,"dur":2,"pid":1,"tid":1}]' % ("x" * 20000000)
    assert [f["calls"] for f in report(long)["cpu"]["functions"]] == [1]
    result = report('[{"ph":"X","name":"f","ts":1,"dur":2},{"ph":"X","name":"' + "y" * 20000000,
                    warning="the text ends too early")
    assert [f["name"] for f in result["cpu"]["functions"]] == ["f"]


def test_flows_in_circles_and_without_ends(report):
    """Flows say nothing here: launches are joined by their correlations."""
    def flow(phase, identity, ts, **more):
        return {"ph": phase, "id": identity, "ts": ts, "pid": 1, "tid": 1, "cat": "ac2g",
                "name": "ac2g", **more}
    events = [complete("a", "x", 0, 10)]
    for i in range(50):
        events += [flow("f", i, i, bp="e"), flow("t", (i + 1) % 50, i), flow("s", i, 100 - i)]
    result = report(events)
    assert spans(result) == {"a": (1, 0.01)}
    assert "150 of 151 events have no counterpart here: ac2g 150" in notes_of(result)


def test_numbers_that_no_double_holds(report):
    """Ids above 2^53 and 2^63 stay different; a duration of one nanosecond stays one."""
    base = "9007199254740993"
    work = '"device": 0, "stream": 7'
    text = '[%s]' % ",".join(
        '{"ph": "X", "cat": "%s", "name": "%s", "pid": %d, "tid": 9, "ts": %s.%03d, "dur": 0.001,'
        '"args": {"correlation": %d, %s}}' % (cat, name, pid, "1712195495505583", ns, number, work)
        for number, ns in ((int(base), 1), (int(base) + 1, 7))
        for cat, name, pid in (("cuda_runtime", "cudaLaunchKernel", 3), ("kernel", "k%d" % ns, 0)))
    result = report(text)
    assert result["trust"]["unmatched_activities"] == 0
    assert result["gpu"]["span_ms"] == 0.000007 and result["gpu"]["busy_ms"] == 0.000002


@pytest.mark.parametrize("category", ["hip_driver", "xpu_runtime", "mtia_runtime",
                                      "privateuse1_runtime"])
def test_calls_of_other_devices(report, category):
    result = report([
        complete("launch", category, 0, 5, correlation=3),
        complete("k", "kernel", 10, 5, tid=7, pid=0, device=0, stream=7, correlation=3)])
    assert result["trust"]["unmatched_activities"] == 0
    assert [call["name"] for call in result["gpu"]["calls"]] == ["launch"]
