"""inferscope export for viewers: Chrome JSON, Perfetto, speedscope, pprof.

What a viewer does with a file is done here by hand: nest what is complete, match begins with ends.
"""

import collections
import decimal
import gzip
import json
import os
import shutil
import sqlite3
import subprocess
import sys

import jsonschema
import pytest

from wire import fields, packed

STORIES = ["asyncio_server", "contention", "cpu_layers", "decoder", "gpu_service",
           "hostile_names", "losses", "many_rows", "memory", "native_server", "nvtx", "paused",
           "plain_script", "throttled", "unmarked", "waiting", "warm_up"]
RECORDED = ["h200_encoder", "h200_gpt2_decode", "h200_resnet50", "h200_two_streams"]
FOREIGN = ["kineto_h100_bert_inference.json.gz", "kineto_mi300_vllm_decode_graph.json.gz",
           "viztracer_asyncio.json", "viztracer_multithread.json", "chrome_nestable_async.json"]

# Crossing scopes, a wait that outlives a pause, kernels that overlap on one stream, all at once.
CROSSING = """\
info gpu on
process 1 100 serve.py 0 90000
process 2 100 again.py 0 90000
thread 1 1 100 MainThread 0 90000 0
thread 2 2 100 MainThread 0 90000 0
code f /srv/serve.py 40
code g /srv/serve.py 60
1: +f@1000 [a#1/1@1000 +g@1000 [b#2/2@2000 ]#1@3000 -g@4000 ]#2@5000 [c#3/3@6000 -f@7000 ]#3@8000
1: +f@10000 {cudaLaunchKernel#1:1/0@11000 {cudaLaunchKernel#2:1/0@11000 }2@11000 |0@12000 }1@13000
1: ^f@15000 -f@16000 +f@16000 -f@16000 +g@16000 +f@16000 -f@17000 +f@17000 -f@18000 -g@18000
2: +g@1000 -g@90000
1: kernel:one#1@20000:20000+100/7 kernel:two#2@20000:20000+300/7 kernel:three#3@20000:20050+10/7
"""


@pytest.fixture
def trace_of(golden, story, root):
    def find(name):
        if name == "crossing":
            return story(CROSSING)
        if name in STORIES:
            return golden(name)
        if name in RECORDED:
            return os.path.join(root, "examples/traces", name + ".isc")
        for folder in [os.path.join(root, "../shared/traces"), "/work/shared/traces"]:
            if os.path.exists(os.path.join(folder, name)):
                return os.path.join(folder, name)
        pytest.skip("the shared traces are not here")
    return find


@pytest.fixture
def exported_bytes(binary, work):
    def run(trace, to):
        done = subprocess.run([binary, "export", trace, "--to", to], cwd=str(work),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.returncode == 0, done.stderr
        return done.stdout
    return run


@pytest.fixture
def chrome(exported_bytes):
    def run(trace):
        return json.loads(exported_bytes(trace, "chrome"), parse_float=decimal.Decimal)
    return run


def ns(us):
    value = us * 1000
    assert value == int(value)
    return int(value)


def complete(events):
    """{(pid, tid): [(start, end, name)]}"""
    tracks = collections.defaultdict(list)
    for e in events:
        if e["ph"] == "X":
            tracks[e["pid"], e["tid"]].append((ns(e["ts"]), ns(e["ts"] + e["dur"]), e["name"]))
    return tracks


def crossings(slices):
    """Those of one track that overlap another one without lying in it."""
    found, open_ends = [], []
    for start, end, name in sorted(slices, key=lambda s: (s[0], -s[1])):
        while open_ends and open_ends[-1] <= start and not open_ends[-1] == start == end:
            open_ends.pop()
        if open_ends and end > open_ends[-1]:
            found.append((start, end, name))
        open_ends.append(end)
    return found


def test_crossings_are_seen():
    assert crossings([(0, 10, "a"), (5, 15, "b")]) == [(5, 15, "b")]
    assert crossings([(0, 10, "a"), (5, 10, "b"), (10, 12, "c"), (10, 10, "d")]) == []


@pytest.mark.parametrize("name", STORIES + RECORDED + FOREIGN + ["crossing"])
def test_complete_events_nest_on_every_track(chrome, trace_of, name):
    events = chrome(trace_of(name))["traceEvents"]
    for track, slices in complete(events).items():
        assert crossings(slices) == [], track
    named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    assert set(complete(events)) <= named
    assert {pid for pid, _ in named} <= {e["pid"] for e in events if e["name"] == "process_name"}
    starts = collections.Counter(e["id"] for e in events if e["ph"] == "s")
    ends = collections.Counter(e["id"] for e in events if e["ph"] == "f")
    assert starts == ends and set(starts.values()) <= {1}


@pytest.mark.parametrize("name", ["gpu_service", "asyncio_server", "cpu_layers", "losses", "paused",
                                  "h200_resnet50", "crossing"])
def test_nothing_is_lost_and_times_are_exact(exported_bytes, chrome, trace_of, name):
    trace = trace_of(name)
    events = json.loads(exported_bytes(trace, "json"), parse_float=decimal.Decimal)["events"]
    shown = chrome(trace)["traceEvents"]
    for kind, categories in [("cpu_function", ("python", "inferscope_sampled")), ("gc", ("gc",)),
                             ("layer", ("layer",)), ("gpu_kernel", ("kernel",)),
                             ("gpu_memcpy", ("gpu_memcpy",)), ("gpu_memset", ("gpu_memset",)),
                             ("cuda_api", ("cuda_runtime", "cuda_driver"))]:
        want = collections.Counter((ns(e["start_us"]), ns(e["end_us"])) for e in events
                                   if e["event_type"] == kind and e["start_us"] is not None
                                   and not e.get("sampled"))
        got = collections.Counter((ns(e["ts"]), ns(e["ts"] + e["dur"])) for e in shown
                                  if e.get("cat") in categories
                                  and e["cat"] != "inferscope_sampled")
        assert got == want, kind
    begun = [ns(e["start_us"]) for e in events if e["event_type"] == "scope_enter"]
    assert sorted(begun) == sorted(ns(e["ts"]) for e in shown
                                   if e.get("cat") == "user_annotation")


def test_processes_of_one_pid_are_two(chrome, trace_of):
    events = chrome(trace_of("crossing"))["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert names[100] == "serve.py"
    assert sorted(names.values()) == ["GPU 0 (serve.py)", "again.py", "serve.py"]


def test_kernels_that_overlap_lie_side_by_side(chrome, trace_of):
    events = chrome(trace_of("crossing"))["traceEvents"]
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    lanes = sorted(names[e["pid"], e["tid"]] for e in events if e.get("cat") == "kernel")
    assert lanes == ["stream 7", "stream 7 (overlap 1)", "stream 7 (overlap 2)"]


def perfetto_slices(data):
    """[(track, start, end, name)], and the numbers of flows that begin and end."""
    names, events, flows, ends, zero = {}, [], [], [], None
    tracks = set()
    for message in fields(data)[1]:
        packet = fields(message)
        assert packet[10] == [1]
        if 6 in packet:
            zero = fields(fields(packet[6][0])[1][0])[2][0]
        for interned in packet.get(12, []):
            for name in fields(interned).get(2, []):
                names[fields(name)[1][0]] = fields(name)[2][0].decode()
        for track in packet.get(60, []):
            track = fields(track)
            assert track[1][0] not in tracks
            assert track.get(5, [None])[0] in tracks | {None}
            tracks.add(track[1][0])
        for event in packet.get(11, []):
            event = fields(event)
            assert event[11][0] in tracks
            name = event[23][0].decode() if 23 in event else names.get(event.get(10, [0])[0])
            events.append((packet[8][0] - zero, event[9][0], event[11][0], name))
            flows += event.get(47, [])
            ends += event.get(48, [])
    open_slices, slices = collections.defaultdict(list), []
    for time, kind, track, name in sorted(events, key=lambda e: e[0]):  # stable, as Perfetto's
        if kind == 1:
            open_slices[track].append((name, time))
        elif kind == 2:
            begun = open_slices[track].pop()
            slices.append((track, begun[1], time, begun[0]))
    assert not any(open_slices.values())
    return slices, flows, ends


@pytest.mark.parametrize("name", STORIES + RECORDED + FOREIGN + ["crossing"])
def test_perfetto_and_chrome_have_the_same_slices(exported_bytes, chrome, trace_of, name):
    trace = trace_of(name)
    slices, flows, ends = perfetto_slices(exported_bytes(trace, "perfetto"))
    events = chrome(trace)["traceEvents"]
    want = collections.Counter(s for track in complete(events).values() for s in track)
    assert collections.Counter(s[1:] for s in slices) == want
    assert sorted(flows) == sorted(ends) == sorted(e["id"] for e in events if e["ph"] == "s")


@pytest.mark.parametrize("name", ["gpu_service", "memory", "nvtx", "h200_two_streams"])
def test_protoc_knows_every_field(exported_bytes, trace_of, name):
    """With Perfetto's own schema: PERFETTO_TRACE_PROTO names its perfetto_trace.proto, or a set of
    descriptors (.desc); scripts/check_exports.sh makes one."""
    schema, protoc = os.environ.get("PERFETTO_TRACE_PROTO"), shutil.which("protoc")
    if not schema or not protoc:
        pytest.skip("protoc or PERFETTO_TRACE_PROTO is not there: scripts/check_exports.sh")
    where = (["--descriptor_set_in=" + schema] if schema.endswith(".desc") else
             ["--proto_path=" + os.path.dirname(schema), os.path.basename(schema)])
    done = subprocess.run([protoc, "--decode=perfetto.protos.Trace"] + where,
                          input=exported_bytes(trace_of(name), "perfetto"),
                          stdout=subprocess.PIPE, check=True)
    text = done.stdout.decode()
    assert "TYPE_SLICE_BEGIN" in text and "process_name" in text
    # What a schema does not know is printed by its number.
    assert [line for line in text.splitlines() if line.strip()[:1].isdigit()] == []


@pytest.mark.parametrize("name", ["gpu_service", "nvtx", "h200_two_streams"])
def test_viztracer_reads_the_chrome_file(exported_bytes, trace_of, work, name):
    """It combines files into one: of the same file twice every event is there twice."""
    pytest.importorskip("viztracer", reason="viztracer is not installed: scripts/check_exports.sh")
    data = exported_bytes(trace_of(name), "chrome")
    for copy in "ab":
        (work / (copy + ".json")).write_bytes(data)
    subprocess.run([sys.executable, "-m", "viztracer", "--combine", "a.json", "b.json", "-o",
                    "both.json"], cwd=str(work), stdout=subprocess.DEVNULL, check=True)
    both = json.loads((work / "both.json").read_text())["traceEvents"]
    assert len(both) == 2 * len(json.loads(data)["traceEvents"])


def speedscope_profiles(data):
    return json.loads(data)["profiles"]


@pytest.mark.parametrize("name", STORIES + FOREIGN + ["crossing"])
def test_speedscope_profiles_are_whole(exported_bytes, trace_of, name):
    data = exported_bytes(trace_of(name), "speedscope")
    frames = len(json.loads(data)["shared"]["frames"])
    for p in speedscope_profiles(data):
        assert p["unit"] == "nanoseconds"
        if p["type"] == "sampled":
            assert len(p["samples"]) == len(p["weights"])
            assert sum(p["weights"]) == p["endValue"] - p["startValue"]
            assert all(0 <= frame < frames for stack in p["samples"] for frame in stack)
            continue
        open_frames, now = [], p["startValue"]
        for e in p["events"]:
            assert e["at"] >= now
            now = e["at"]
            if e["type"] == "O":
                open_frames.append(e["frame"])
            else:
                assert open_frames.pop() == e["frame"]
        assert not open_frames and now == p["endValue"]


def test_speedscope_s_own_schema(exported_bytes, trace_of):
    """SPEEDSCOPE_SCHEMA names file-format-schema.json of its package."""
    schema = os.environ.get("SPEEDSCOPE_SCHEMA")
    if not schema:
        pytest.skip("SPEEDSCOPE_SCHEMA is not set: scripts/check_exports.sh")
    with open(schema) as file:
        loaded = json.load(file)
    validator = jsonschema.validators.validator_for(loaded)(loaded)
    for name in ["contention", "plain_script", "memory"]:
        validator.validate(json.loads(exported_bytes(trace_of(name), "speedscope")))


def test_pprof_has_the_samples(exported_bytes, inferscope, trace_of, work):
    trace = trace_of("contention")
    profile = fields(gzip.decompress(exported_bytes(trace, "pprof")))
    strings = [text.decode() for text in profile[6]]
    assert strings[0] == ""
    kinds = [tuple(strings[fields(k)[i][0]] for i in (1, 2)) for k in profile[1]]
    assert kinds == [("samples", "count"), ("wall", "nanoseconds")]
    functions = {fields(f)[1][0]: strings[fields(f)[2][0]] for f in profile[5]}
    places = {fields(at)[1][0]: functions[fields(fields(at)[4][0])[1][0]] for at in profile[4]}
    got, count = collections.Counter(), 0
    for sample in profile[2]:
        sample = fields(sample)
        looks, time = packed(sample[2][0])
        stack = [places[at] for at in packed(sample[1][0])] if 1 in sample else []
        got[";".join(reversed(stack))] += time
        count += looks
    assert inferscope("export", trace, "-o", "run.db", "--table", "samples").returncode == 0
    con = sqlite3.connect(str(work / "run.db"))
    want = dict(con.execute("select coalesce(stack, ''), sum(duration_ns) from samples group by 1"))
    assert got == want and len(want) > 1
    assert count == con.execute("select sum(count) from samples").fetchone()[0]


def test_pprof_without_samples_says_so(refused, golden):
    says = refused("export", golden("gpu_service"), "--to", "pprof", "-o", "a.pprof", status=1)
    assert "no samples" in says and "speedscope" in says


def report(inferscope, work, trace):
    done = inferscope("analyze", trace, "--quiet", "--report", "report.json")
    assert done.returncode == 0, done.stderr
    with open(str(work / "report.json")) as file:
        return json.load(file)


@pytest.mark.parametrize("name", RECORDED)
def test_chrome_and_back_gives_the_same_figures(inferscope, trace_of, work, name):
    trace = trace_of(name)
    assert inferscope("export", trace, "-o", "back.chrome.json").returncode == 0
    there, back = (report(inferscope, work, t) for t in [trace, "back.chrome.json"])
    for key in ["busy_share", "idle_share", "busy_ms", "idle_ms"]:
        assert there["gpu"].get(key) == back["gpu"].get(key), key

    def figures(r):
        return [([(k["full_name"], k["count"], k["ms"]) for k in p["kernels"]],
                 [(c["kind"], c["source"], c["destination"], c["count"], c["bytes"], c["ms"])
                  for c in p["copies"]]) for p in r["gpu"]["processes"]]
    assert figures(there) == figures(back) and figures(there)
    assert [(s["name"], s["count"], s["mean_ms"], s["p99_ms"]) for s in there["steps"]] == [
        (s["name"], s["count"], s["mean_ms"], s["p99_ms"]) for s in back["steps"]]
    assert there["verdict"]["bound"] == back["verdict"]["bound"]
    assert [f["id"] for f in there["findings"]] == [f["id"] for f in back["findings"]]


def test_into_a_pipe_and_by_the_file_s_name(inferscope, exported_bytes, golden, work):
    trace = golden("contention")
    for to, name in [("chrome", "a.chrome.json"), ("perfetto", "a.pftrace"),
                     ("speedscope", "a.speedscope.json"), ("pprof", "a.pb.gz")]:
        assert inferscope("export", trace, "-o", name).returncode == 0
        assert (work / name).read_bytes() == exported_bytes(trace, to), to


def test_an_empty_trace(exported_bytes, story):
    trace = story("# nothing\n")
    assert json.loads(exported_bytes(trace, "chrome"))["traceEvents"] == []
    assert len(fields(exported_bytes(trace, "perfetto"))[1]) == 1
    assert json.loads(exported_bytes(trace, "speedscope"))["profiles"] == []
