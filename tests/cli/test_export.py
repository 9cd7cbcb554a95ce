"""inferscope export --to json: what is in the trace is in the file, as the schema says."""

import json
import math
import os
import re
import resource
import struct

import pytest

import isc_encode as isc

OUTER, INNER, STEP, MARKED = 7, 8, 20, 21


def whole_trace():
    begin = isc.varint(1) + isc.varint(5) + isc.arg("batch", 8) + isc.arg("x", b"ndarray")
    mark = (isc.varint(0) + isc.arg("ratio", 0.5) + isc.arg("bad", math.nan) + isc.arg("ok", True)
            + isc.arg("none", None) + isc.arg("s", 'q"\n\u20ac') + isc.ARGS_CUT)
    return b"".join([
        isc.header(),
        isc.info("command", "serve.py"), isc.info("command", "--fast"),
        isc.entries(isc.NOTE, b"mind the gap"),
        isc.process(3, 4711, "serve.py", 0, 90_000),
        isc.process(9, 4999, "worker", 10_000),
        isc.thread(2, 9, 5000, "late", 1000),
        isc.thread(1, 3, 4711, "MainThread", 0, 80_000, produced=30, lost=20),
        isc.code(OUTER, 42, "Server.handle", "serve.py"), isc.code(INNER, 7, "step", "serve.py"),
        isc.string(STEP, "request"), isc.string(MARKED, b"cache\xff"),
        isc.events(1, 0,
                   (isc.CALL, OUTER, 1001, None),
                   (isc.SCOPE_BEGIN, STEP, 1100, begin),
                   (isc.CALL, INNER, 2000, None),
                   (isc.GC_BEGIN, 2, 2100, None),
                   (isc.GC_END, 2, 2600, isc.varint(12)),
                   (isc.RETURN, INNER, 3000, None),
                   (isc.SCOPE_END, STEP, 3500, isc.varint(1)),
                   (isc.MARK, MARKED, 3600, mark),
                   (isc.RETURN, OUTER, 4001, None)),
        isc.events(1, 29, (isc.RETURN, 999, 70_000, None)),
        isc.events(2, 0, (isc.RESUME, INNER, 20_000, None), (isc.YIELD, INNER, 21_000, None),
                   (isc.COUNTER, STEP, 22_000, struct.pack("<d", 2.5) + b"added later"),
                   (isc.COUNTER, STEP, 23_000, struct.pack("<d", math.inf)),
                   (isc.COUNTER, 999, 24_000, b"short"), (isc.LEFT_OUT, INNER, 24_500, None),
                   (isc.LEFT_OUT, 0, 24_600, None), (isc.PAUSED, 0, 25_000, None)),
        # Looks 2 us apart: it ran, waited for a lock, ran on; a native sample is no look.
        isc.samples(3, (1, 10, 14, 3, 0, 1, None), (1, 16, 24, 5, 0, 0x83, 0x7f00),
                    (1, 17, 17, 1, 0, 0x101, None), (1, 26, 30, 3, 0, 1, None),
                    (1, 32, 32, 1, 0, 0x11, None), (1, 18, 21, 1, 0, 0x305, None)),
        # Resident memory, device memory of the machine; an unknown kind, an unknown process.
        isc.series((10, 3, 1, 0, 4096), (11, 0, 96, 2, 1 << 40), (20, 3, 1, 0, 0),
                   (21, 3, 60000, 0, 1), (22, 77, 1, 0, 1)),
        isc.end(100_000, 3),
    ])


@pytest.fixture
def trace(work):
    path = work / "run.isc"
    path.write_bytes(whole_trace())
    return path


@pytest.fixture(scope="session")
def schema(event_schema):
    return event_schema


def of_type(result, event_type):
    return [event for event in result["events"] if event["event_type"] == event_type]


def test_the_run_is_described(exported, trace):
    run = exported(trace)["inferscope"]
    assert run["schema"] == 1
    assert run["started"] == "2023-11-14T22:13:20.123456789Z"
    assert (run["wall_us"], run["exit_status"], run["damage"]) == (100.0, 3, None)
    command = [fact["value"] for fact in run["info"] if fact["key"] == "command"]
    assert command == ["serve.py", "--fast"]
    assert run["notes"] == ["mind the gap"]
    assert [(p["id"], p["pid"], p["end_us"]) for p in run["processes"]] == [
        (3, 4711, 90), (9, 4999, None)]
    assert [(t["id"], t["process"], t["pid"], t["tid"], t["name"], t["produced"], t["lost"])
            for t in run["threads"]] == [(1, 3, 4711, 4711, "MainThread", 30, 20),
                                         (2, 9, 4999, 5000, "late", 8, 0)]


def test_functions_have_their_place_and_times(exported, trace):
    inner, outer = of_type(exported(trace), "cpu_function")[:2]
    assert outer == {"event_type": "cpu_function", "name": "Server.handle", "file": "serve.py",
                     "line": 42, "start_us": 1.001, "end_us": 4.001, "self_us": 2.0, "depth": 0,
                     "pid": 4711, "tid": 4711, "thread": 1}
    assert (inner["name"], inner["start_us"], inner["end_us"]) == ("step", 2.0, 3.0)
    assert (inner["self_us"], inner["depth"]) == (0.5, 1)


def test_what_is_not_whole_says_so(exported, trace):
    functions = of_type(exported(trace), "cpu_function")
    unknown = [f for f in functions if f["start_us"] > 4.5 and f["thread"] == 1]
    assert len(unknown) == 1 and unknown[0]["open_start"] is True
    assert [f.get("resumed") for f in functions if f["thread"] == 2] == [True]


def test_collections_are_events(exported, trace):
    (gc,) = of_type(exported(trace), "gc")
    assert (gc["generation"], gc["collected"]) == (2, 12)
    assert (gc["start_us"], gc["end_us"], gc["tid"]) == (2.1, 2.6, 4711)


def test_scopes_and_marks_carry_their_metadata(exported, trace):
    result = exported(trace)
    (enter,), (leave,), (mark,) = (of_type(result, kind)
                                   for kind in ("scope_enter", "scope_exit", "instant"))
    assert (enter["name"], enter["start_us"]) == ("request", 1.1)
    assert (enter["instance"], enter["task"]) == (1, 5)
    assert enter["args"] == {"batch": 8, "x": {"type": "ndarray"}}
    assert "args_cut" not in enter
    assert (leave["name"], leave["start_us"], leave["instance"]) == ("request", 3.5, 1)
    assert mark["name"] == "cache\ufffd"
    assert mark["args"] == {"ratio": 0.5, "bad": None, "ok": True, "none": None, "s": 'q"\n\u20ac'}
    assert mark["args_cut"] is True


def test_counters_have_their_values(exported, trace):
    assert [(c["name"], c["start_us"], c["value"], c["tid"])
            for c in of_type(exported(trace), "counter") if "tid" in c] == [
        ("request", 22, 2.5, 5000), ("request", 23, None, 5000), ("(unknown)", 24, None, 5000)]


def test_what_was_read_from_outside_are_counters_too(exported, trace):
    rss = {"event_type": "counter", "name": "rss_bytes", "pid": 4711, "process": 3,
           "unit": "bytes", "nature": "gauge"}
    assert [c for c in of_type(exported(trace), "counter") if "tid" not in c] == [
        dict(rss, start_us=10, value=4096),
        {"event_type": "counter", "name": "gpu_memory_used_bytes", "start_us": 11, "instance": 2,
         "unit": "bytes", "nature": "gauge", "value": 1 << 40},
        dict(rss, start_us=20, value=0)]


def test_lost_events_are_data(exported, trace):
    (lost,) = of_type(exported(trace), "lost")
    assert (lost["events"], lost["start_us"], lost["end_us"]) == (20, 4.001, 70.0)


def test_what_is_left_out_says_from_when_on(exported, trace):
    result = exported(trace)
    left_out, = of_type(result, "calls_left_out")
    inner = of_type(result, "cpu_function")[0]
    assert [left_out[key] for key in ("name", "file", "line")] == \
        [inner[key] for key in ("name", "file", "line")]
    again, = of_type(result, "calls_traced_again")
    assert (left_out["start_us"], again["start_us"]) == (24.5, 24.6)
    assert left_out["thread"] == again["thread"] == 2


def test_states_of_threads_are_intervals(exported, trace):
    states = [(event["name"], event["start_us"], event["end_us"], event["error_us"],
               event.get("lock")) for event in of_type(exported(trace), "thread_state")]
    # Half way between two looks, to within that half; with the GIL or without is all one.
    assert states == [("running", 10.0, 15.0, 1.0, None), ("lock_wait", 15.0, 25.0, 1.0, 0x7f00),
                      ("running", 25.0, 32.0, 1.0, None)]


def test_times_without_a_cpu_are_exact(exported, trace):
    away, = of_type(exported(trace), "off_cpu")
    assert (away["name"], away["start_us"], away["end_us"]) == ("waiting", 18.0, 21.0)


def test_every_event_type_of_the_schema_is_covered_here(exported, trace, schema):
    covered = {event["event_type"] for event in exported(trace)["events"]}
    kinds = schema.schema["$defs"]
    known = {kinds[entry["$ref"].rsplit("/", 1)[1]]["properties"]["event_type"]["const"]
             for entry in kinds["event"]["oneOf"]}
    # test_export_gpu.py and test_layer_reports.py have the others.
    assert covered == {name for name in known
                       if not name.startswith(("gpu_", "cuda_")) and name != "layer"}


def test_the_schema_refuses_what_is_wrong(exported, trace, schema):
    result = exported(trace)
    for change in ({"event_type": "nonsense"}, {"start_us": "1"}, {"extra": 1}, {"pid": -1}):
        broken = dict(result, events=[dict(result["events"][0], **change)])
        assert not schema.is_valid(broken), change


def test_one_event_a_line(inferscope, trace):
    lines = inferscope("export", trace).stdout.splitlines()
    start = lines.index('"events":[') + 1
    for line in lines[start:lines.index("]", start)]:
        assert "event_type" in json.loads(line.rstrip(","))


def test_the_example_of_the_format_page_is_a_trace(exported, work, root):
    with open(os.path.join(root, "docs/FORMAT.md")) as file:
        dump = re.findall(r"^[0-9a-f]{8}: ((?:[0-9a-f]{2} )+)", file.read(), re.M)
    (work / "example.isc").write_bytes(bytes.fromhex("".join(dump)))
    result = exported(work / "example.isc")
    assert [(e["event_type"], e["name"], e["start_us"]) for e in result["events"]] == [
        ("instant", "step", 1.064), ("cpu_function", "outer", 1.0)]
    assert result["events"][0]["args"] == {"n": 2}
    assert result["inferscope"]["threads"][0]["produced"] == 3


@pytest.mark.parametrize("cut", [60, 200, 500, 700, -60, -1])
def test_a_cut_trace_is_exported_up_to_there(exported, work, cut):
    (work / "cut.isc").write_bytes(whole_trace()[:cut])
    result = exported(work / "cut.isc", warning="is not complete")
    assert re.search("ends inside a block at offset [0-9]+ of [0-9]+",
                     result["inferscope"]["damage"])
    assert result["inferscope"]["wall_us"] is None


def test_a_recording_without_an_end(exported, work):
    (work / "open.isc").write_bytes(isc.header() + isc.process(1, 7, "p"))
    run = exported(work / "open.isc", warning="has no end")["inferscope"]
    assert (run["wall_us"], run["exit_status"]) == (None, None)


def test_an_empty_recording(exported, work):
    (work / "empty.isc").write_bytes(isc.header() + isc.end(5))
    assert exported(work / "empty.isc")["events"] == []


def test_a_file_is_written_whole_or_not_at_all(inferscope, refused, trace, work):
    target = work / "out.json"
    assert inferscope("export", trace, "-o", target).returncode == 0
    before = target.read_text()
    assert json.loads(before)["events"]
    (work / "broken.isc").write_bytes(b"{}")
    refused("export", work / "broken.isc", "-o", target, status=1)
    assert target.read_text() == before
    assert sorted(os.listdir(work)) == ["broken.isc", "out.json", "run.isc"]


def test_a_disk_that_fills_up_leaves_what_was_there(refused, trace, work):
    target = work / "out.json"
    target.write_text("old")
    # Python ignores SIGXFSZ and the program inherits that: the write fails instead.  A program
    # built for coverage cannot write its counters then either.
    line = refused("export", trace, "-o", target, status=1, restore_signals=False,
                   env={"GCOV_ERROR_FILE": os.devnull},
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500)))
    assert "cannot write" in line and "File too large" in line
    assert target.read_text() == "old"
    assert sorted(os.listdir(work)) == ["out.json", "run.isc"]


def test_a_new_file_is_its_owners_alone(inferscope, trace, work):
    inferscope("export", trace, "-o", work / "out.json", preexec_fn=lambda: os.umask(0o027))
    assert (work / "out.json").stat().st_mode & 0o777 == 0o600


def test_a_device_is_written_in_place(inferscope, refused, trace):
    assert inferscope("export", trace, "-o", "/dev/null").returncode == 0
    line = refused("export", trace, "-o", "/dev/full", status=1)
    assert "No space left" in line
    assert os.path.exists("/dev/full")


def test_an_export_never_overwrites_what_is_read(refused, trace, work):
    before = (work / trace).read_bytes()
    os.symlink(str(work / trace), str(work / "link"))
    os.link(str(work / trace), str(work / "hard"))
    for name in trace, "./" + os.path.basename(str(trace)), "link", "hard":
        assert refused("export", trace, "-o", name) == \
            "cannot write '%s': it is the trace to read; choose another file" % name
    (work / "c.yaml").write_text("quiet: true\n")
    assert "it is the configuration file" in refused("export", trace, "--config", "c.yaml", "-o",
                                                     "c.yaml")
    assert (work / trace).read_bytes() == before


def test_links_and_pipes_are_not_written(refused, trace, work):
    (work / "e.json").write_text("old")
    os.symlink("e.json", str(work / "link.json"))
    assert "it is a link" in refused("export", trace, "-o", "link.json", status=1)
    assert (work / "e.json").read_text() == "old"
    os.mkfifo(str(work / "pipe"))
    assert "not a regular file" in refused("export", trace, "-o", "pipe", status=1, timeout=10)


def test_places_that_cannot_be_written(refused, trace, work):
    assert "nowhere/x.json" in refused("export", trace, "-o", "nowhere/x.json", status=1)
    assert "it is a directory" in refused("export", trace, "-o", work, status=1)


@pytest.mark.parametrize("name, content, says", [
    ("x.json", b'{"traceEvents": []}', "has no events"),
    ("x.gz", b"\x1f\x8b\x08\0", "the compressed data ends too early"),
    ("x.isc", b"", "is empty"),
    ("x.isc", b"\x7fELF" + bytes(100), "x.isc is not an InferScope trace"),
    ("x.isc", isc.header(version=2), "newer InferScope: format 2"),
    ("x.isc", isc.header()[:20], "ends inside its header"),
])
def test_what_is_no_trace_is_refused_in_one_line(refused, work, name, content, says):
    (work / name).write_bytes(content)
    assert says in refused("export", name, status=1)


def test_missing_and_directory(refused, work):
    assert "cannot open gone.isc: No such file" in refused("export", "gone.isc", status=1)
    assert "is a directory" in refused("export", work, status=1)


@pytest.mark.parametrize("args, says", [
    ((), "no trace given"),
    (("a.isc", "b.isc"), "unexpected 'b.isc'"),
    (("a.isc", "--to", "xml"), "--to: expected json|chrome|"),
])
def test_usage_errors(refused, args, says):
    assert says in refused("export", *args)


def test_the_documented_tables_are_those_there_are(inferscope):
    root = os.path.join(os.path.dirname(__file__), "..", "..")
    with open(os.path.join(root, "docs", "TABLES.md"), encoding="utf-8") as file:
        assert inferscope("export", "--list-tables").stdout == file.read(), (
            "run: inferscope export --list-tables > docs/TABLES.md")
