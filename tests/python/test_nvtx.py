"""NVTX: ranges and marks that programs already have, without CUDA and without a GPU."""

import json
import os
import shutil
import subprocess

import pytest

import isc_decode as isc
import nvtx_kit
from two_readers import TwoReaders, load_schema

LIBRARIES = ["double"] + sorted(nvtx_kit.WHEELS)
PUSHED, STARTED, MARKED = 1, 2, 3
SMILE = "\U0001f600"


@pytest.fixture(scope="session")
def build(root, doubles, tmp_path_factory):
    """tests/native/nvtx_program.c with the NVTX of a library, or with that of its headers."""
    folder = tmp_path_factory.mktemp("nvtx")
    built = {}

    def compile(version="double", with_headers=False):
        if (version, with_headers) not in built:
            compiler = shutil.which("cc") or pytest.skip("no C compiler")
            path = str(folder / ("%s-%d" % (version, with_headers)))
            if with_headers:
                words = ["-DWITH_HEADERS", "-isystem", nvtx_kit.headers(root, version), "-ldl"]
            else:
                library = nvtx_kit.library(root, doubles, version)
                words = [library, "-Wl,-rpath," + os.path.dirname(library)]
            subprocess.run([compiler, "-O1", "-g", "-I", root + "/src",
                            root + "/tests/native/nvtx_program.c", "-o", path, "-pthread", *words],
                           check=True)
            built[version, with_headers] = path
        return built[version, with_headers]
    return compile


@pytest.fixture(params=[(version, False) for version in LIBRARIES]
                + [(version, True) for version in LIBRARIES[1:]],
                ids=lambda param: ("headers-" if param[1] else "library-") + param[0])
def program(request, build):
    return build(*request.param)


@pytest.fixture
def record_nvtx(inferscope, work):
    """Records a command; returns the decoded trace, with the run as `done`."""
    def run(*command, env=None, options=(), heard=True):
        """heard: False where nothing of the command can be recorded, and the program says so."""
        done = inferscope("run", "--quiet", "--report", "r.json", "--trace", "t.isc", *options,
                          "--", *command, env=env)
        assert (done.returncode, done.stderr if heard else "") == (0, "")
        assert heard or "no calls were recorded" in done.stderr
        trace = isc.load(str(work / "t.isc"))
        assert trace.whole and all(thread.lost() == 0 for thread in trace.threads.values())
        trace.done = done
        return trace
    return run


def story(trace, pid=None):
    """[(what, name, domain)] of all NVTX events, thread by thread."""
    words = {isc.SCOPE_BEGIN: "begin", isc.SCOPE_END: "end", isc.MARK: "mark"}
    told = []
    for thread in trace.threads.values():
        if pid in (None, trace.processes[thread.fields["process"]]["pid"]):
            told += [(words[e.kind], trace.nvtx[e.id]["name"], trace.nvtx[e.id]["domain"])
                     for e in thread.events if e.id in trace.nvtx and e.kind in words]
    return told


def begins(trace):
    """name: [(definition, args)] of ranges and marks."""
    all_of = {}
    for thread in trace.threads.values():
        for event in thread.events:
            if event.kind in (isc.SCOPE_BEGIN, isc.MARK) and event.id in trace.nvtx:
                definition = trace.nvtx[event.id]
                all_of.setdefault(definition["name"], []).append(
                    (definition, dict(isc.Payload(event).args.pairs)))
    return all_of


def ranges(trace):
    """[(name, begin thread, end thread)] of ranges with both; one of them missing is an error."""
    open_ranges, found = {}, []
    events = sorted(((e.time_ns, thread.fields["id"], e) for thread in trace.threads.values()
                     for e in thread.events if e.id in trace.nvtx), key=lambda row: row[:2])
    for _, thread, event in events:
        process = trace.threads[thread].fields["process"]
        key = process, isc.Payload(event).instance
        if event.kind == isc.SCOPE_BEGIN:
            assert key not in open_ranges
            open_ranges[key] = trace.nvtx[event.id]["name"], thread
        elif event.kind == isc.SCOPE_END:
            name, begun = open_ranges.pop(key)
            assert name == trace.nvtx[event.id]["name"]
            found.append((name, begun, thread))
    assert not open_ranges
    return found


def test_all_that_a_program_can_say(program, record_nvtx):
    trace = record_nvtx(program, "everything")
    # The levels that push and pop return are those of their domain.
    assert trace.done.stdout == "0 1 2 0 0 0 2 0 1 0\n"
    assert story(trace) == [
        ("begin", "outer", ""), ("begin", "innér " + SMILE, ""), ("mark", "here", ""),
        ("mark", "thére", ""), ("begin", "read", ""), ("begin", "registered", "library"),
        ("begin", "wîde", "weit →"), ("mark", "wîde", "weit →"), ("end", "registered", "library"),
        ("end", "read", ""), ("end", "wîde", "weit →"), ("end", "innér " + SMILE, ""),
        ("end", "outer", "")]
    assert len(ranges(trace)) == 5
    said = begins(trace)
    assert [(d["kind"], d["category"], d["category_name"], args) for d, args in said["read"]] == \
        [(PUSHED, 3, "input", {"payload": -42})]
    assert [(d["kind"], d["category"], d["category_name"], args)
            for d, args in said["registered"]] == [(PUSHED, 3, "kernels", {"payload": -42})]
    assert [(d["kind"], d["category"], d["category_name"], args) for d, args in said["wîde"]] == \
        [(PUSHED, 4, "", {"payload": 0.25}), (MARKED, 4, "", {"payload": 0.25})]
    assert said["outer"][0][1] == {}


def test_a_range_ends_in_whichever_thread(program, record_nvtx):
    trace = record_nvtx(program, "threads")
    assert trace.done.stdout == "nothing to pop\n"
    found = sorted((name, begun == ended) for name, begun, ended in ranges(trace))
    assert found == [("in the other thread", True), ("main", True), ("request", False),
                     ("request", True)]
    assert {d["kind"] for d, _ in begins(trace)["request"]} == {STARTED}
    assert "helper" in {thread.fields["name"] for thread in trace.threads.values()}


def test_a_child_ends_nothing_of_its_parents(program, record_nvtx):
    trace = record_nvtx(program, "forks")
    parent, child = [fields["pid"] for fields in trace.processes.values()]
    assert story(trace, child) == [
        ("begin", "of the child", ""), ("end", "of the child", ""),
        ("begin", "request of the child", ""), ("end", "request of the child", "")]
    assert story(trace, parent) == [
        ("begin", "of the parent", ""), ("begin", "around the fork", ""),
        ("end", "around the fork", ""), ("end", "of the parent", "")]
    assert len(ranges(trace)) == 4


def test_nonsense_is_harmless(program, record_nvtx):
    alone = subprocess.run([program, "hostile"], stdout=subprocess.PIPE, timeout=240)
    assert (alone.returncode, alone.stdout) == (0, b"alive\n")
    trace = record_nvtx(program, "hostile")
    assert trace.done.stdout == "alive\n"
    assert len(ranges(trace)) == 14
    said = begins(trace)
    assert len(said.pop("(unnamed)")) == 9
    assert said.pop("\ufffd\ufffd invalid \ufffd") and said.pop("\ufffd\ufffd\ufffdx")
    assert said.pop("x" * 4096) and said.pop(SMILE * 1024)
    (definition, _), = said.pop("with a long category")
    assert definition["category_name"] == "x" * 255 and not said


def test_ranges_that_are_never_popped_do_not_pile_up(build, record_nvtx):
    trace = record_nvtx(build(), "leaks")
    told = story(trace)
    assert told.count(("begin", "leaked", "")) == 5000 and ("end", "leaked", "") not in told
    assert told[-2:] == [("begin", "kept", ""), ("end", "kept", "")]


def test_many_names(build, record_nvtx):
    """More than the agent remembers at a time, and each of them is in the trace."""
    trace = record_nvtx(build(), "names", "60000")
    assert {d["name"] for d in trace.nvtx.values()} == {"request %d" % i for i in range(60000)}
    assert len(ranges(trace)) == 60000


def are_all_of_at_once(trace):
    found = ranges(trace)
    assert len(found) == 8 * 1000 * 2
    assert {name for name, _, _ in found} == {"started"} | {"name %d" % i for i in range(50)}
    assert {d["category_name"] for d in trace.nvtx.values() if d["domain"]} == {"one", "other"}


def test_the_number_of_an_event_is_no_part_of_its_name(build, record_nvtx):
    """PyTorch's emit_nvtx() numbers each call of an operator behind its name."""
    trace = record_nvtx(build(), "operators", "4")
    said = begins(trace)
    assert {name: [args for _, args in rows] for name, rows in said.items()} == {
        "aten::linear": [{"about": "op_id = %d" % n} for n in range(4)],
        "aten::add": [{"about": "seq = %d, op_id = 7, sizes = [[8, 256], []]" % n}
                      for n in range(4)],
        "aten::huge": [{"about": "op_id = 1" + 246 * "x"}] * 4,
        "load, seq = x": [{}] * 4, "a, b": [{}] * 4}
    assert len(trace.nvtx) == 5 and len(ranges(trace)) == 4 * 4
    assert {d["kind"] for d, _ in said["a, b"]} == {MARKED}


def test_threads_at_once(program, record_nvtx):
    are_all_of_at_once(record_nvtx(program, "at once", options=("--max-overhead", "100")))


def test_threads_that_all_initialise_nvtx(build, record_nvtx):
    """As those of a program with the headers of 11.8 do: none goes on before we have joined."""
    for _ in range(5):
        are_all_of_at_once(record_nvtx(build(), "at once", env={"FAKE_NVTX_ODD": "all at once"},
                                       options=("--max-overhead", "100")))


def test_two_readers_agree(build, record_nvtx, binary, root, work):
    record_nvtx(build(), "everything")
    TwoReaders(binary, root, work).agree(str(work / "t.isc"))


def test_the_export_tells_domain_category_and_payload(build, record_nvtx, inferscope):
    record_nvtx(build(), "everything")
    events = json.loads(inferscope("export", "t.isc", "--to", "json").stdout)["events"]
    (read,) = [e for e in events if e["event_type"] == "scope_enter" and e["name"] == "read"]
    assert read["nvtx"] == {"kind": "push", "domain": "", "category": 3, "category_name": "input"}
    assert read["args"] == {"payload": -42}
    (mark,) = [e for e in events if e["event_type"] == "instant" and e["name"] == "wîde"]
    assert mark["nvtx"] == {"kind": "mark", "domain": "weit →", "category": 4}


def test_without_a_recording_nothing_listens(program):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("INFERSCOPE_", "NVTX_"))}
    done = subprocess.run([program, "everything"], env=env, stdout=subprocess.PIPE, timeout=240)
    assert done.stdout == b"-2 -2 -2 -2 -2 -2 -2 -2 -2 -2\n"


@pytest.mark.parametrize("env", [{}, {"INFERSCOPE_SESSION": "999999.3.4.abc"}])
def test_a_variable_that_outlived_its_recording_is_harmless(program, package, env):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("INFERSCOPE_", "NVTX_"))}
    env = {**clean, **env, "NVTX_INJECTION64_PATH": package + "/inferscope/_agent.abi3.so"}
    done = subprocess.run([program, "everything"], env=env, stdout=subprocess.PIPE, timeout=240)
    assert done.stdout == b"-2 -2 -2 -2 -2 -2 -2 -2 -2 -2\n"


def test_another_tool_stays(build, record_nvtx):
    other = "/opt/other/tool.so"
    said = ("NVTX ranges are not recorded: NVTX_INJECTION64_PATH is set to another tool (%s); "
            "unset it to record NVTX ranges" % other)
    trace = record_nvtx(build(), "everything", env={"NVTX_INJECTION64_PATH": other}, heard=False)
    assert said in trace.notes and "inferscope: %s\n" % said in trace.done.stderr
    assert not trace.nvtx and trace.done.stdout.startswith("-2 -2")
    shown = record_nvtx("sh", "-c", "echo $NVTX_INJECTION64_PATH",
                        env={"NVTX_INJECTION64_PATH": other}, options=["--no-nvtx"],
                        heard=False)
    assert said not in shown.notes
    assert shown.done.stdout == other + "\n"


def test_an_empty_variable_is_no_tool(build, record_nvtx):
    trace = record_nvtx(build(), "everything", env={"NVTX_INJECTION64_PATH": ""})
    assert len(ranges(trace)) == 5


def test_a_recording_inside_a_recording_is_ours(build, record_nvtx, package):
    agent = os.path.realpath(package + "/inferscope/_agent.abi3.so")
    trace = record_nvtx(build(), "everything", env={"NVTX_INJECTION64_PATH": agent})
    assert len(ranges(trace)) == 5


def test_switched_off(build, record_nvtx):
    trace = record_nvtx(build(), "everything", options=["--no-nvtx"], heard=False)
    assert not trace.nvtx and trace.done.stdout.startswith("-2 -2")
    shown = record_nvtx("env", options=["--no-nvtx"], heard=False)
    assert "NVTX_INJECTION64_PATH" not in shown.done.stdout


@pytest.mark.parametrize("odd, heard", [("no tables", False), ("a short table", False),
                                        ("no modules", True)])
def test_an_nvtx_that_we_do_not_know_is_left_alone(build, record_nvtx, odd, heard):
    trace = record_nvtx(build(), "everything", env={"FAKE_NVTX_ODD": odd}, heard=heard)
    assert not trace.nvtx and trace.done.stdout.startswith("-2 -2")


def test_an_older_nvtx_is_served_as_far_as_it_goes(build, record_nvtx):
    assert len(ranges(record_nvtx(build(), "everything", env={"FAKE_NVTX_ODD": "no version"}))) == 5
    trace = record_nvtx(build(), "everything", env={"FAKE_NVTX_ODD": "a hole"})
    assert "outer" not in begins(trace) and "read" in begins(trace)
    # Marks, starts and ends of the first module only; no pushes, no domains.
    trace = record_nvtx(build(), "threads", env={"FAKE_NVTX_KNOWS": "8"})
    assert [name for name, _, _ in ranges(trace)] == ["request", "request"]


def test_a_cleared_environment_keeps_us_out(build, record_nvtx):
    trace = record_nvtx("env", "-i", build(), "everything", heard=False)
    assert not trace.nvtx and trace.done.stdout.startswith("-2 -2")


def test_ranges_wait_for_the_end_of_the_delay(build, record_nvtx):
    trace = record_nvtx(build(), "pairs", "3000", options=["--delay", "1.5"])
    assert 0 < len(ranges(trace)) < 3000
    assert begins(trace).keys() == {"pair"}


# ---- from Python ----

CALLS = """
import ctypes, os, sys
nvtx = ctypes.CDLL(os.environ["NVTX_LIBRARY"])
nvtx.nvtxRangeStartA.restype = ctypes.c_uint64
nvtx.nvtxRangeEnd.argtypes = [ctypes.c_uint64]
def work():
    nvtx.nvtxRangePushA(b"step")
    nvtx.nvtxRangePop()
"""


@pytest.fixture
def with_library(doubles):
    return {"NVTX_LIBRARY": doubles.path("libfake_nvtx.so")}


def test_ranges_beside_scopes_and_calls(python, record, with_library, work):
    record(python, CALLS + """
from inferscope import scope
for _ in range(5):
    with scope("ours"):
        work()
""", env=with_library)
    trace = isc.load(str(work / "t.isc"))
    assert story(trace) == [("begin", "step", ""), ("end", "step", "")] * 5
    kinds = [e.kind for thread in trace.threads.values() for e in thread.events
             if e.kind in (isc.SCOPE_BEGIN, isc.SCOPE_END)]
    assert kinds == [isc.SCOPE_BEGIN, isc.SCOPE_BEGIN, isc.SCOPE_END, isc.SCOPE_END] * 5


@pytest.mark.parametrize("flag", ["-E", "-I"])
def test_a_python_that_keeps_the_shim_out(python, write, inferscope, with_library, work, flag):
    path = write(CALLS + "work()\n")
    done = inferscope("run", "--quiet", "--report", "r.json", "--trace", "t.isc", "--", python,
                      flag, path, env=with_library)
    assert done.returncode == 0
    trace = isc.load(str(work / "t.isc"))
    assert story(trace) == [("begin", "step", ""), ("end", "step", "")]
    assert any("did not load the agent" in note for note in trace.notes)


def test_start_and_stop(python, plain, write, with_library, work):
    """A range that is open when a recording begins or ends is in none, and breaks nothing."""
    path = write(CALLS + """
import inferscope
inferscope.start("a.json", trace="a.isc", cpu="off")
work()
nvtx.nvtxRangePushA(b"around")
late = nvtx.nvtxRangeStartA(b"late")
inferscope.stop()
print(nvtx.nvtxRangePushA(b"between"), "NVTX_INJECTION64_PATH" in os.environ)
inferscope.start("b.json", trace="b.isc", cpu="off")
nvtx.nvtxRangeEnd(late)
work()
nvtx.nvtxRangePop()
nvtx.nvtxRangePop()
nvtx.nvtxRangeEnd(nvtx.nvtxRangeStartA(b"second"))
inferscope.stop()
inferscope.start("c.json", trace="c.isc", cpu="off", nvtx=False)
work()
inferscope.stop()
""")
    done = plain(python, path, env=with_library)
    assert (done.returncode, done.stdout, done.stderr) == (0, "-2 False\n", "")
    first, second, third = (isc.load(str(work / name)) for name in ("a.isc", "b.isc", "c.isc"))
    assert story(first) == [("begin", "step", ""), ("end", "step", ""), ("begin", "around", ""),
                            ("begin", "late", "")]
    assert story(second) == [("begin", "step", ""), ("end", "step", ""), ("begin", "second", ""),
                             ("end", "second", "")]
    assert story(third) == []


def test_start_leaves_another_tool_alone(python, plain, write, with_library, work):
    path = write(CALLS + """
import inferscope
inferscope.start("a.json", trace="a.isc", cpu="off")
print(nvtx.nvtxRangePushA(b"theirs"))
inferscope.stop()
print(os.environ["NVTX_INJECTION64_PATH"])
""")
    other = "/opt/other/tool.so"
    done = plain(python, path, env={**with_library, "NVTX_INJECTION64_PATH": other})
    assert (done.returncode, done.stdout, done.stderr) == (0, "-2\n%s\n" % other, "")
    trace = isc.load(str(work / "a.isc"))
    assert not trace.nvtx
    assert any("set to another tool (%s): NVTX ranges" % other in note for note in trace.notes)


PACKAGE = """
import sys
import nvtx

@nvtx.annotate("decorated", color="blue", domain="app", category="load", payload=7)
def decorated():
    pass

domain = nvtx.get_domain("low level")
attributes = domain.get_event_attributes(message="fast", category=domain.get_category_id("hot"))
for i in range(3):
    decorated()
    with nvtx.annotate("with", payload=0.5):
        nvtx.mark("marked", domain="app", payload=i)
    nvtx.push_range("pushed", domain="app")
    nvtx.pop_range(domain="app")
    nvtx.end_range(nvtx.start_range("started"))
    domain.push_range(attributes)
    domain.pop_range()
    if "numpy" in sys.modules:  # or the package refuses such a payload
        nvtx.push_range("a list", payload=[1, 2, 3])
        nvtx.pop_range()
print("numpy" in sys.modules)
"""


def test_the_nvtx_package(python, version, root, record, work):
    site = nvtx_kit.package(root, version)
    recording = record(python, PACKAGE, env={"PYTHONPATH": site})
    trace = isc.load(str(work / "t.isc"))
    said = begins(trace)
    if recording.done.stdout == "True\n":
        assert [args for _, args in said.pop("a list")] == [{}] * 3
    assert {name: len(rows) for name, rows in said.items()} == dict.fromkeys(
        ["decorated", "with", "marked", "pushed", "started", "fast"], 3)
    ranges(trace)
    definition, args = said["decorated"][0]
    assert (definition["domain"], definition["category_name"], args) == ("app", "load",
                                                                        {"payload": 7})
    assert definition["colour"] & 0xffffff == 0x0000ff
    assert said["fast"][0][0]["domain"] == "low level"
    assert said["fast"][0][0]["category_name"] == "hot"
    assert said["with"][0][1] == {"payload": 0.5}
    assert [args for _, args in said["marked"]] == [{"payload": i} for i in range(3)]


TORCH = """
import ctypes, os, types
import torch

if not hasattr(torch._C, "_nvtx"):
    # A build without CUDA: what its binding would call, in a library as libtorch has it inside.
    library = ctypes.CDLL(os.environ["NVTX_LIBRARY"])
    library.nvtxRangeStartA.restype = ctypes.c_uint64
    library.nvtxRangeEnd.argtypes = [ctypes.c_uint64]
    torch.cuda.nvtx._nvtx = types.SimpleNamespace(
        rangePushA=lambda text: library.nvtxRangePushA(text.encode()),
        rangePop=library.nvtxRangePop, rangeEnd=library.nvtxRangeEnd,
        rangeStartA=lambda text: library.nvtxRangeStartA(text.encode()),
        markA=lambda text: library.nvtxMarkA(text.encode()))

with torch.cuda.nvtx.range("forward {}", 1):
    print(torch.cuda.nvtx.range_push("layer"), torch.cuda.nvtx.range_pop())
torch.cuda.nvtx.mark("there")
torch.cuda.nvtx.range_end(torch.cuda.nvtx.range_start("request"))
"""


def test_torch(python_with, record, work, with_library):
    recording = record(python_with("torch"), TORCH, env={
        **with_library, "INFERSCOPE_CPU": "off", "INFERSCOPE_MAX_OVERHEAD": "100"}, timeout=120)
    trace = isc.load(str(work / "t.isc"))
    assert story(trace) == [
        ("begin", "forward 1", ""), ("begin", "layer", ""), ("end", "layer", ""),
        ("end", "forward 1", ""), ("mark", "there", ""), ("begin", "request", ""),
        ("end", "request", "")]
    assert recording.done.stdout == "1 1\n"


# ---- in the report ----

def test_ranges_are_steps_and_rows_of_a_table(build, record_nvtx, work, root):
    record_nvtx(build(), "pairs", "20")
    report = json.loads((work / "r.json").read_text())
    load_schema(root, "report").validate(report)
    (step,) = report["steps"]
    assert (step["name"], step["source"], step["domain"], step["count"]) == \
        ("pair", "nvtx", "", 20)
    (row,) = report["nvtx"]["ranges"]
    assert (row["name"], row["kind"], row["count"], row["unended"]) == ("pair", "push", 20, 0)
    assert row["total_ms"] == row["self_ms"] >= 20 and row["gpu_ms"] is None


def test_self_time_is_without_what_lies_inside(python, record, with_library, work):
    record(python, CALLS + """
import time
for _ in range(3):
    nvtx.nvtxRangePushA(b"outer")
    time.sleep(0.002)
    nvtx.nvtxRangePushA(b"inner")
    time.sleep(0.004)
    nvtx.nvtxRangePop()
    nvtx.nvtxRangePop()
nvtx.nvtxMarkA(b"done")
""", env=with_library)
    report = json.loads((work / "r.json").read_text())
    rows = {row["name"]: row for row in report["nvtx"]["ranges"]}
    assert rows["inner"]["self_ms"] == rows["inner"]["total_ms"] >= 12
    outer = rows["outer"]
    assert outer["self_ms"] >= 6
    assert abs(outer["total_ms"] - outer["self_ms"] - rows["inner"]["total_ms"]) < 1e-4
    assert report["cpu"]["marks"] == [{"name": "done", "domain": "", "count": 1}]
    assert [(step["name"], step["depth"]) for step in report["steps"]] == [("outer", 0),
                                                                         ("inner", 1)]


def test_gpu_work_belongs_to_the_range_that_launched_it(python, record_gpu, with_library, work):
    record_gpu(python, CALLS + """
import fake_cuda
fake_cuda.init()
for i in range(4):
    nvtx.nvtxRangePushA(b"launches")
    fake_cuda.launch("k")
    nvtx.nvtxRangePop()
    work()
""", env=with_library)
    report = json.loads((work / "r.json").read_text())
    rows = {row["name"]: row for row in report["nvtx"]["ranges"]}
    assert rows["launches"]["gpu_ms"] == pytest.approx(4 * 0.001)  # as the double has it
    assert rows["launches"]["gpu_count"] == 4
    assert rows["step"]["gpu_ms"] == 0


# ---- within the budget ----

@pytest.fixture
def storm(build, record_nvtx, work):
    def run(how, milliseconds, *options):
        trace = record_nvtx(build(), how, str(milliseconds), env={"INFERSCOPE_CPU": "auto"},
                            options=["--trace-size-mb", "500", *options])
        trace.report = json.loads((work / "r.json").read_text())
        trace.rows = {row["name"]: row for row in trace.report["nvtx"]["ranges"]}
        trace.left_out = [e.id for thread in trace.threads.values() for e in thread.events
                          if e.kind == isc.NVTX_LEFT_OUT]
        return trace
    return run


@pytest.mark.measures
def test_short_ranges_that_cost_too_much_are_left_out(storm):
    trace = storm("storm", 400)
    step, short, request = (trace.rows[name] for name in ("step", "short", "short request"))
    assert step["count"] == 400 and not step["left_out"]
    assert short["left_out"] and request["left_out"]
    ranges(trace)  # what was begun was ended
    assert {trace.nvtx[id]["name"] for id in trace.left_out} == {"short", "short request", "often"}
    assert any("NVTX ranges or marks of" in note for note in trace.report["trust"]["notes"])


def test_without_a_bound_all_of_them_are_recorded(storm):
    trace = storm("storm", 20, "--max-overhead", "100")
    assert not trace.left_out and not any(row["left_out"] for row in trace.rows.values())
    assert trace.rows["step"]["count"] == 20
    assert trace.rows["short"]["count"] == trace.rows["short request"]["count"]


@pytest.mark.measures
def test_what_was_left_out_is_tried_again(storm):
    # Long enough to use up the credit that was earned in between.
    trace = storm("storms", 500, "--max-overhead", "40")
    again = trace.left_out.index(0)
    assert set(trace.left_out[:again]) & set(trace.left_out[again + 1:])
    assert trace.rows["step"]["count"] == 1000 and trace.rows["pair"]["count"] == 2500
