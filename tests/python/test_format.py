"""docs/FORMAT.md is right: what was decoded from it alone is what the program reads.

The traces are of real programs, each here for something of the format that it has.
test_format_damage.py does the same with files that are damaged.
"""

import json
import os
import re
import subprocess
import sys
import time

import pytest

import isc_decode as isc
from two_readers import TwoReaders, worked_example

CALLS = '''
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def zähler():
    try:
        yield 1
        yield 2
    except KeyError:
        yield 3

def raises():
    raise ValueError

def nested():
    try:
        raises()
    finally:
        fib(3)

fib(10)
list(zähler())
counter = zähler()
next(counter)
counter.throw(KeyError("x"))
try:
    nested()
except ValueError:
    pass
'''

THREADS = '''
import threading

def leaf():
    pass

def work():
    for _ in range(200):
        leaf()

threads = [threading.Thread(target=work, name="worker %d" % i) for i in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
'''

ASYNCIO = '''
import asyncio
from inferscope import counter, mark_event, scope

class Tensor:
    pass

async def request(i):
    async with scope("request", id=i, low=-2**63, high=2**63 - 1, huge=2**80, ratio=0.1,
                     whole=2.0, nan=float("nan"), inf=float("-inf"), on=True, off=False,
                     none=None, text='q"\\n\\u20ac', x=Tensor()):
        with scope("inner"):
            await asyncio.sleep(0.001)
        mark_event("half way", i=i)
        await asyncio.sleep(0)

async def main():
    await asyncio.gather(*(request(i) for i in range(20)))

asyncio.run(main())
for value in (3, 0.1, -2**80, float("inf"), True, 2**2000):
    counter("queue", value)
mark_event("outside of any task")
mark_event("too much", **{"key%d" % i: "v" * 100 for i in range(200)})
'''

COLLECTIONS = '''
import gc

def cycle():
    a = []
    a.append(a)

for generation in (0, 1, 2):
    for _ in range(50):
        cycle()
    gc.collect(generation)
'''

PROCESSES = '''
import os
import subprocess
import sys
from inferscope import scope

def work(n):
    with scope("step", n=n):
        return sum(range(n))

work(1)
pid = os.fork()
if not pid:
    work(2)
    os._exit(3)
os.waitpid(pid, 0)
subprocess.run([sys.executable, "-c", "def child(): pass\\nchild()"])
'''

# While the recorder stands still, nothing makes room.
OVERFLOW = '''
import os
import signal
import threading

def leaf():
    pass

def work():
    for _ in range(25000):
        leaf()

def few():
    for _ in range(100):
        leaf()

os.kill(os.getppid(), signal.SIGSTOP)
try:
    for target in (few, work, work):
        thread = threading.Thread(target=target, name=target.__name__)
        thread.start()
        thread.join()
finally:
    os.kill(os.getppid(), signal.SIGCONT)
'''

NAMES = '''
import os
import signal

os.kill(os.getppid(), signal.SIGSTOP)
try:
    for i in range(6000):
        name = "function%d_%s" % (i, "x" * 300)
        exec("def %s(): pass" % name)
        globals()[name]()
finally:
    os.kill(os.getppid(), signal.SIGCONT)
'''

KILLED = '''
import os
import signal
from inferscope import scope

def deep(n):
    with scope("level", n=n):
        if not n:
            os.kill(os.getpid(), signal.SIGKILL)
        deep(n - 1)

deep(20)
'''

# name: source, status, options
WORKLOADS = {
    "calls": (CALLS, 0),
    "threads": (THREADS, 0),
    "asyncio": (ASYNCIO, 0),
    "collections": (COLLECTIONS, 0),
    "processes": (PROCESSES, 0),
    "overflow": (OVERFLOW, 0, "--trace-size-mb", "1"),
    "newest": (OVERFLOW, 0, "--trace-size-mb", "1", "--ring"),
    "scopes-only": (ASYNCIO, 0, "--no-cpu"),
    "exit-status": ("raise SystemExit(7)", 7),
    "killed": (KILLED, 137),
    "names": (NAMES, 0, "--trace-size-mb", "1"),
}

# Says when it runs, then goes on until the recorder is gone.
ENDLESS = '''
import os
import time

def leaf():
    pass

print("running", flush=True)
recorder = os.getppid()
while os.getppid() == recorder:
    leaf()
    time.sleep(0.01)
'''


@pytest.fixture(scope="module")
def readers(binary, root, tmp_path_factory):
    return TwoReaders(binary, root, tmp_path_factory.mktemp("format"))


@pytest.fixture(scope="module")
def recorded(readers):
    """The path of a workload's trace; each is recorded once."""
    paths = {}

    def record(name):
        if name not in paths:
            source, status, *options = WORKLOADS[name]
            paths[name] = readers.record(name, source, "--python", sys.executable, *options,
                                         status=status)
        return paths[name]
    return record


def of_kind(trace, *kinds):
    return [event for thread in trace.threads.values() for event in thread.events
            if event.kind in kinds]


def code_names(trace, *kinds):
    return [trace.codes[event.id]["name"] for event in of_kind(trace, *kinds)]


@pytest.mark.parametrize("name", WORKLOADS)
def test_both_readers_agree_and_the_schemas_hold(readers, recorded, name):
    path = recorded(name)
    trace, export = readers.agree(path)
    assert trace.whole and trace.exit_status == WORKLOADS[name][1]
    assert len(of_kind(trace, *isc.KIND_NAMES)) > 10 or name == "scopes-only"
    report = readers.check_schemas(path, export)
    assert report["trust"]["dropped"] == sum(t.lost() for t in trace.threads.values())
    assert report["trust"]["events"] == sum(len(t.events) for t in trace.threads.values())
    with open(os.path.join(readers.folder, name + ".run.json"), encoding="utf-8") as file:
        readers.report_schema.validate(json.load(file))


def test_both_readers_agree_on_every_python(readers, python):
    trace, _ = readers.agree(readers.record("every", CALLS + THREADS + COLLECTIONS,
                                            "--python", python))
    names = code_names(trace, isc.CALL)
    assert names.count("fib") == 177 + 5 and names.count("leaf") == 600
    main = trace.processes[min(trace.processes)]
    running = subprocess.check_output([python, "-c", "import sys; print(sys.hexversion)"])
    assert main["python"] == int(running)


def test_calls_have_every_way_in_and_out(recorded):
    trace = isc.load(recorded("calls"))
    assert code_names(trace, isc.CALL).count("fib") == 177 + 5
    assert "zähler" in code_names(trace, isc.YIELD)
    assert "zähler" in code_names(trace, isc.RESUME, isc.THROW)
    assert {"raises", "nested"} <= set(code_names(trace, isc.UNWIND))
    assert of_kind(trace, isc.RUNNING)


def test_threads_are_named(recorded):
    trace = isc.load(recorded("threads"))
    named = [t for t in trace.threads.values() if t.fields["name"].startswith("worker")]
    assert sorted(t.fields["name"] for t in named) == ["worker 0", "worker 1", "worker 2"]
    for thread in named:
        leaves = [e for e in thread.events if trace.codes[e.id]["name"] == "leaf"]
        assert len(leaves) == 400
        assert 0 < thread.fields["start_ns"] <= leaves[0].time_ns
        assert leaves[-1].time_ns <= trace.wall_ns


@pytest.mark.parametrize("name", ["asyncio", "scopes-only"])
def test_metadata_is_what_was_given(recorded, name):
    trace = isc.load(recorded(name))
    begins = [isc.Payload(e) for e in of_kind(trace, isc.SCOPE_BEGIN)
              if trace.strings[e.id] == "request"]
    assert len(begins) == len({begin.task for begin in begins}) == 20
    args = dict(begins[3].args.pairs)
    assert isinstance(args["x"], isc.Object) and args.pop("x").type_name == "Tensor"
    assert args.pop("nan") != 0 and args.pop("huge") == 2.0 ** 80
    assert args == {"id": 3, "low": -2**63, "high": 2**63 - 1, "ratio": 0.1, "whole": 2.0,
                    "inf": float("-inf"), "on": True, "off": False, "none": None,
                    "text": 'q"\n\u20ac'}
    ended = {isc.Payload(e).instance for e in of_kind(trace, isc.SCOPE_END)}
    assert {begin.instance for begin in begins} < ended and len(ended) == 40
    marks = {trace.strings[e.id]: isc.Payload(e) for e in of_kind(trace, isc.MARK)}
    assert marks["outside of any task"].task == 0 and not marks["half way"].args.cut
    assert marks["too much"].args.cut and marks["too much"].args.pairs[0] == ("key0", "v" * 100)


def test_counters_have_their_values(recorded):
    trace = isc.load(recorded("asyncio"))
    found = [(trace.strings[e.id], isc.Payload(e).value) for e in of_kind(trace, isc.COUNTER)]
    assert found[:5] == [("queue", value) for value in (3, 0.1, -2.0**80, float("inf"), 1)]
    assert len(found) == 6 and found[5][1] != found[5][1]


def test_collections_have_their_generation(recorded):
    trace = isc.load(recorded("collections"))
    ends = [(e.id, isc.Payload(e).collected) for e in of_kind(trace, isc.GC_END)]
    assert {generation for generation, collected in ends if collected >= 50} == {0, 1, 2}


def test_children_are_processes_of_the_trace(recorded):
    trace = isc.load(recorded("processes"))
    first, *children = trace.processes.values()
    assert len(children) == 2
    assert all(child["parent_pid"] == first["pid"] for child in children)
    assert {trace.threads[id].fields["process"] for id in trace.threads} == set(trace.processes)


@pytest.mark.parametrize("name", ["overflow", "newest"])
def test_what_did_not_fit_is_counted(recorded, name):
    trace = isc.load(recorded(name))
    busy = [t for t in trace.threads.values() if t.produced() > 50_000]
    assert len(busy) == 2
    assert sum(t.lost() for t in busy) > 0
    for thread in trace.threads.values():
        assert thread.produced() == len(thread.events) + thread.lost()
        assert thread.lost() == thread.fields["lost"]


def test_names_that_did_not_fit_are_a_note(recorded):
    trace = isc.load(recorded("names"))
    assert "names did not fit into the trace buffer" in " ".join(trace.notes)
    assert any(event.id not in trace.codes for event in of_kind(trace, isc.CALL))


def test_what_a_killed_recorder_left_is_readable(readers):
    path = os.path.join(readers.folder, "cut-off.isc")
    script = os.path.join(readers.folder, "endless.py")
    with open(script, "w") as file:
        file.write(ENDLESS)
    recorder = subprocess.Popen(
        readers.command("run", "--quiet", "--trace", path, "--python",
                        sys.executable, script),
        cwd=readers.folder, env=readers.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        assert recorder.stdout.readline() == b"running\n"
        deadline = time.monotonic() + 20
        while "leaf" not in code_names(isc.load(path), isc.CALL) and time.monotonic() < deadline:
            time.sleep(0.1)
    finally:
        recorder.kill()
        recorder.communicate()
    trace, export = readers.agree(path)
    assert not trace.ended and trace.wall_ns is None
    assert "leaf" in code_names(trace, isc.CALL)
    assert readers.check_schemas(path, export)["trust"]["partial"] is True


def test_the_command_line_prints_json_lines(recorded):
    done = subprocess.run([sys.executable, isc.__file__, recorded("asyncio")],
                          stdout=subprocess.PIPE, universal_newlines=True, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0]["whole"] is True
    request = [line for line in lines if line.get("of") == "request"]
    assert len(request) == 40 and ["id", 0] in request[0]["args"]


@pytest.fixture(scope="module")
def page(root):
    with open(os.path.join(root, "docs/FORMAT.md"), encoding="utf-8") as file:
        return file.read()


def test_the_worked_example_is_what_the_page_says(readers, page):
    data = worked_example(page)
    assert len(data) == 455 and "455 bytes, six blocks" in page
    trace, export = readers.agree(readers.put(data))
    readers.check_schemas(readers.put(data), export)
    assert trace.whole and trace.header_bytes == 48
    assert trace.info == [("command", "main.py")]
    assert trace.processes == {1: {"id": 1, "pid": 4711, "parent_pid": 4710,
                                   "python": 0x030c03f0, "start_ns": 0, "end_ns": 9000,
                                   "name": "main.py", "overhead_ns": None,
                                   "event_cost_ps": None, "left_out_functions": None,
                                   "gpu_overhead_ns": None, "graph_overhead_ns": None}}
    thread = trace.threads[1]
    assert thread.fields == {"id": 1, "process": 1, "tid": 4711, "start_ns": 500, "end_ns": -1,
                             "produced": 0, "lost": 0, "name": "", "on_cpu_ns": None,
                             "queued_ns": None}
    assert (thread.produced(), thread.lost()) == (3, 0)
    assert trace.codes == {7: {"line": 42, "name": "outer", "file": "main.py"}}
    assert trace.strings == {9: "step"}
    assert [(e.index, e.kind, e.time_ns, e.id) for e in thread.events] == [
        (0, isc.CALL, 1000, 7), (1, isc.MARK, 1064, 9), (2, isc.RETURN, 1364, 7)]
    mark = isc.Payload(thread.events[1])
    assert (mark.task, mark.args.pairs, mark.args.cut) == (0, [("n", 2)], False)
    assert (trace.wall_ns, trace.exit_status) == (10000, 0)


def test_the_worked_example_is_where_the_page_says(page):
    data = worked_example(page)
    rows = [(int(first, 16), int(last, 16), text) for first, last, text in
            re.findall(r"^\| ([0-9a-f]{3})–([0-9a-f]{3}) \| (.*) \|$", page, re.M)]
    crc = isc.FILE_HEADER.unpack_from(data)[-1]
    assert rows[0][:2] == (0, 47) and "crc32 0x%08x" % crc in rows[0][2]
    names = ["INFO", "PROCESS", "THREAD", "DEFS", "EVENTS", "END"]
    begins = {first: text for first, last, text in rows}
    offset = 48
    for name in names:
        header = isc.BLOCK_HEADER.unpack_from(data, offset)
        assert begins[offset].startswith(name)
        offset += isc.BLOCK_HEADER.size + header[3]
    assert offset == len(data) == rows[-1][1] + 1
