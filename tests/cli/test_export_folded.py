"""inferscope export --to folded: stacks for flame graphs, with the time that is theirs alone."""

import re
import sys
from collections import Counter

import pytest

import isc_encode as isc

MAIN, HELPER, ODD = 7, 8, 9
LINE = re.compile(r"([^;\n]+(?:;[^;\n]+)*) ([1-9][0-9]*)")


@pytest.fixture
def folded(inferscope):
    """{(frame, ...): microseconds} of a trace; every line is as the format wants it."""
    def run(path):
        done = inferscope("export", path, "--to", "folded")
        assert done.returncode == 0 and done.stderr == "", done.stderr
        stacks = {}
        for line in done.stdout.splitlines():
            match = LINE.fullmatch(line)
            assert match, line
            stack = tuple(match.group(1).split(";"))
            assert stack not in stacks, "twice: " + line
            stacks[stack] = int(match.group(2))
        return stacks
    return run


@pytest.fixture
def write(work):
    """A trace of these parts, with three functions, one of them with a nasty name."""
    def make(*parts):
        path = work / "run.isc"
        path.write_bytes(b"".join([
            isc.header(), isc.process(1, 40, "serve.py"),
            isc.code(MAIN, 3, "main", "/app/serve.py"), isc.code(HELPER, 9, "helper", ""),
            isc.code(ODD, 1, "a;b\nc\x1b[31m", "x;y.py"), *parts, isc.end(10_000_000)]))
        return path
    return make


def calls(thread, *events):
    return isc.events(thread, 0, *[(kind, code, at, None) for kind, code, at in events])


def test_self_times_by_stack(folded, write):
    path = write(isc.thread(1, 1, 40, "MainThread"), calls(
        1, (isc.CALL, MAIN, 0), (isc.CALL, HELPER, 1_000_000), (isc.RETURN, HELPER, 1_500_000),
        (isc.CALL, HELPER, 2_000_000), (isc.CALL, HELPER, 2_100_000),
        (isc.RETURN, HELPER, 2_150_000), (isc.RETURN, HELPER, 2_300_000),
        (isc.RETURN, MAIN, 3_000_000)))
    root = "serve.py", "MainThread", "main (/app/serve.py:3)"
    assert folded(path) == {root: 2200, (*root, "helper"): 750, (*root, "helper", "helper"): 50}


def test_no_name_can_break_a_line(folded, write):
    path = write(isc.thread(1, 1, 40, "T;1\n"), calls(
        1, (isc.CALL, ODD, 0), (isc.RETURN, ODD, 5_000)))
    ((_, thread, function),) = folded(path)
    assert thread.startswith("T:1") and function.startswith("a:b")
    assert function.endswith("(x:y.py:1)") and "\x1b" not in function


def test_threads_of_one_name_are_one_and_nameless_ones_are_not(folded, write):
    once = (isc.CALL, HELPER, 0), (isc.RETURN, HELPER, 7_000)
    path = write(*[isc.thread(n, 1, 100 + n, "worker" if n < 3 else "") for n in range(1, 5)],
                 *[calls(n, *once) for n in range(1, 5)])
    assert folded(path) == {("serve.py", "worker", "helper"): 14,
                            ("serve.py", "thread 103", "helper"): 7,
                            ("serve.py", "thread 104", "helper"): 7}


def test_functions_whose_entries_were_overwritten_keep_their_times(folded, write):
    """As --ring leaves them: each exit adds a stack, and the table of stacks grows meanwhile."""
    ids = range(100, 400)
    path = write(isc.thread(1, 1, 40, "m"), *[isc.code(n, 1, f"f{n}", "") for n in ids], calls(
        1, *[(isc.RETURN, n, 1_000_000 * (n - 99)) for n in ids]))
    assert folded(path) == {("serve.py", "m", f"f{n}"): 1000 for n in ids}


def test_collections_take_their_time_from_the_function(folded, write):
    path = write(isc.thread(1, 1, 40, "m"), isc.events(
        1, 0, (isc.CALL, MAIN, 0, None), (isc.GC_BEGIN, 2, 10_000, None),
        (isc.GC_END, 2, 40_000, isc.varint(1)), (isc.RETURN, MAIN, 50_000, None)))
    main = "serve.py", "m", "main (/app/serve.py:3)"
    assert folded(path) == {main: 20, (*main, "(garbage collection)"): 30}


def test_an_exit_without_its_entry_has_its_time(folded, write):
    path = write(isc.thread(1, 1, 40, "m"), calls(
        1, (isc.CALL, HELPER, 10_000), (isc.RETURN, HELPER, 30_000), (isc.RETURN, MAIN, 90_000)))
    assert folded(path) == {("serve.py", "m", "helper"): 20,
                            ("serve.py", "m", "main (/app/serve.py:3)"): 70}


def test_a_bottomless_stack_has_an_end(folded, write):
    deep = 3000
    path = write(isc.thread(1, 1, 40, "m"), calls(
        1, *[(isc.CALL, HELPER, 1000 * n) for n in range(deep)],
        *[(isc.RETURN, HELPER, 1000 * (deep + n)) for n in range(deep)]))
    stacks = folded(path)
    assert max(map(len, stacks)) == 2 + 1024
    assert sum(stacks.values()) == 2 * deep - 1  # from the first call to the last return, in us


RUNNING, GIL, CUT, STACK, DEEP = 1, 2, 0x40, 50, 51


def looks(stack, first_us, last_us, count, flags):
    return 1, first_us, last_us, count, stack, flags, None


def test_samples_tell_where_there_are_any(folded, write):
    """Looks every millisecond; each stands for the time halfway to its neighbours."""
    path = write(isc.thread(1, 1, 40, "m"), isc.stack(STACK, (MAIN, 0)),
                 isc.stack(DEEP, (HELPER, 4), (MAIN, 2)),
                 calls(1, (isc.CALL, ODD, 0), (isc.RETURN, ODD, 9_000_000)),
                 isc.samples(1, looks(STACK, 1000, 3000, 3, RUNNING),
                             looks(DEEP, 4000, 5000, 2, GIL),
                             looks(DEEP, 6000, 6000, 1, RUNNING),
                             looks(DEEP, 7000, 7000, 1, RUNNING | CUT),
                             looks(0, 8000, 8000, 1, RUNNING)))
    main = "main (/app/serve.py:3)"
    stacks = folded(path)
    assert stacks.pop(("serve.py", "m", main)) >= 2500
    assert stacks.pop(("serve.py", "m", main, "helper", "(waits for the GIL)")) == 2000
    assert stacks.pop(("serve.py", "m", main, "helper")) == 1000
    assert stacks.pop(("serve.py", "m", "(deeper)", main, "helper")) == 1000
    assert list(stacks) == [("serve.py", "m")], "no Python function, and none of the calls"


def test_what_a_sample_does_not_say(folded, write):
    """A stack and a state that nobody defined."""
    path = write(isc.thread(1, 1, 40, "m"),
                 isc.samples(1, looks(99, 1000, 2000, 2, 15), looks(98, 3000, 3000, 1, 0)))
    assert list(folded(path)) == [("serve.py", "m")]


def test_nothing_recorded_is_an_empty_file(folded, write):
    assert folded(write(isc.thread(1, 1, 40, "m"))) == {}


SCRIPT = """
import threading, json
def leaf(n):
    return json.dumps(list(range(n)))
def branch(n):
    return [leaf(n) for _ in range(3)]
def work():
    for n in range(12):
        branch(n)
thread = threading.Thread(target=work, name="second")
thread.start()
work()
thread.join()
"""


def test_it_agrees_with_the_json_of_a_real_recording(inferscope, folded, exported, work):
    (work / "program.py").write_text(SCRIPT)
    done = inferscope("run", "--quiet", "--cpu", "trace", "--trace", "t.isc", "--python",
                      sys.executable, "program.py")
    assert done.returncode == 0, done.stderr
    stacks = folded(work / "t.isc")
    assert inferscope("export", "t.isc", "--to", "folded").stdout == inferscope(
        "export", "t.isc", "--to", "folded").stdout
    by_json, by_stack = Counter(), Counter()
    for event in exported(work / "t.isc")["events"]:
        if event["event_type"] == "cpu_function":
            by_json[event["name"]] += event["self_us"]
    for stack, us in stacks.items():
        by_stack[stack[-1].split(" (")[0]] += us
    for name in ("leaf", "branch", "work"):
        lines = sum(stack[-1].startswith(name + " (") for stack in stacks)
        assert abs(by_stack[name] - by_json[name]) <= lines  # each is rounded
    paths = {stack[1:] for stack in stacks if stack[-1].startswith("leaf ")}
    assert ("second", "work (program.py:7)", "branch (program.py:5)",
            "leaf (program.py:3)") in {(path[0], *[f for f in path[1:] if "program.py" in f
                                                   and "<" not in f]) for path in paths}


def test_a_file_gets_it(inferscope, write, work):
    path = write(isc.thread(1, 1, 40, "m"),
                 calls(1, (isc.CALL, HELPER, 0), (isc.RETURN, HELPER, 5_000)))
    assert inferscope("export", path, "--to", "folded", "-o", "out").returncode == 0
    assert (work / "out").read_text() == "serve.py;m;helper 5\n"


def test_a_disk_that_is_full_is_said(inferscope, write):
    path = write(isc.thread(1, 1, 40, "m"),
                 calls(1, (isc.CALL, HELPER, 0), (isc.RETURN, HELPER, 5_000)))
    done = inferscope("export", path, "--to", "folded", "-o", "/dev/full")
    assert done.returncode == 1 and "No space left" in done.stderr
