"""Other tools in the workload see what they see without us; what they keep from us is told."""

import os
import re
import subprocess
import sys
import textwrap

import pytest

PYTHONS = os.environ.get("INFERSCOPE_PYTHONS", sys.executable).split(":")

WORK = """
import sys, threading

def leaf(n):
    return n + 1

def work(rounds=20):
    total = 0
    for i in range(rounds):
        total += leaf(i)
    return total

def generate():
    yield work(2)
    yield work(3)

class Thing:
    def method(self):
        return sorted([3, 1, 2], key=lambda n: -n)

def everything():
    work()
    list(generate())
    Thing().method()
    try:
        {}["missing"]
    except KeyError:
        pass
"""

TOOLS = {
    "cProfile": """
        import cProfile, pstats
        for _ in range(3):  # on and off again and again
            profile = cProfile.Profile()
            profile.runcall(everything)
            print(sorted((key[2], value[:2]) for key, value in pstats.Stats(profile).stats.items()))
            everything()
    """,
    "profile": """
        import profile, pstats
        for _ in range(3):
            one = profile.Profile(bias=0)
            one.runcall(everything)
            print(sorted((key[2], value[:2]) for key, value in pstats.Stats(one).stats.items()))
    """,
    "setprofile": """
        seen = []
        def note(frame, event, arg):
            seen.append((event, frame.f_code.co_name, getattr(arg, "__name__", None)))
        sys.setprofile(note)
        everything()
        sys.setprofile(None)
        print(seen, sys.getprofile())
        seen.clear()
        everything()
        print(seen)
    """,
    "settrace": """
        seen = []
        def note(frame, event, arg):
            frame.f_trace_opcodes = frame.f_code.co_name == "leaf"
            seen.append((event, frame.f_code.co_name, frame.f_lineno))
            return note
        sys.settrace(note)
        everything()
        sys.settrace(None)
        print(seen, sys.gettrace())
    """,
    "both-in-one-thread-only": """
        seen = []
        def note(frame, event, arg):
            seen.append((event, frame.f_code.co_name))
            return note
        def with_tools():
            sys.settrace(note)
            sys.setprofile(note)
            everything()
            sys.settrace(None)
            sys.setprofile(None)
        thread = threading.Thread(target=with_tools)
        thread.start()
        everything()
        thread.join()
        # Outside the main thread, one that replaces another hears the end of its installation.
        print([entry for entry in seen if entry[1] != "with_tools"])
    """,
    "threading.setprofile": """
        seen = []
        def note(frame, event, arg):
            if frame.f_globals["__name__"] == "__main__":
                seen.append((event, frame.f_code.co_name))
        threading.setprofile(note)
        thread = threading.Thread(target=everything)
        thread.start()
        thread.join()
        threading.setprofile(None)
        print(seen)
    """,
    "trace": """
        import trace
        tracer = trace.Trace(count=1, trace=0, countfuncs=0)
        tracer.runfunc(everything)
        print(sorted(line for (file, line), _ in tracer.results().counts.items()
                     if file == __file__))
        tracer = trace.Trace(count=0, trace=0, countcallers=1)
        tracer.runfunc(everything)
        print(sorted((a[2], b[2]) for a, b in tracer.results().callers))
    """,
    "bdb": """
        import bdb
        class Debugger(bdb.Bdb):
            def user_line(self, frame):
                print(frame.f_code.co_name, frame.f_lineno)
                self.set_step()
        Debugger().runcall(work, 2)
    """,
    "tracemalloc": """
        import tracemalloc
        tracemalloc.start(5)
        kept = [bytearray(1000) for _ in range(10)]; everything()
        mine = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, __file__)])
        print(sorted((t.traceback[0].lineno, t.size) for t in mine.traces if t.size > 1000))
        tracemalloc.stop()
    """,
    "faulthandler": """
        import faulthandler
        def deep():
            faulthandler.dump_traceback(all_threads=True)
        sys.stderr.flush()
        deep()
    """,
    "audit": """
        seen = []
        sys.addaudithook(lambda event, args: seen.append(event) if "profile" in event else None)
        sys.setprofile(None)
        print(seen)
    """,
}


def outcome(command, work, env, stdin=""):
    done = subprocess.run(command, cwd=str(work), env=env, input=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, timeout=120)
    return (done.returncode,) + tuple(re.sub("0x[0-9a-f]+|USDT:[^]]*]", "-", text)
                                      for text in (done.stdout, done.stderr))


@pytest.fixture
def same(binary, clean_env, work, write):
    """Runs a program alone and recorded; what it says must be equal."""
    def run(python, text, *before, stdin=""):
        command = [python, *before, str(write(WORK + "\n" + textwrap.dedent(text)))]
        alone = outcome(command, work, clean_env, stdin)
        recorded = outcome([binary, "run", "--quiet", "--report", "r.json", "--trace", "t.isc",
                            "--"] + command, work, clean_env, stdin)
        assert alone[0] == 0, alone[2]
        assert recorded == alone
        return alone[1] + alone[2]
    return run


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("interpreter", PYTHONS)
def test_a_tool_finds_what_it_finds_alone(same, interpreter, tool):
    assert same(interpreter, TOOLS[tool])


@pytest.mark.parametrize("interpreter", PYTHONS)
def test_pdb_steps_through_as_it_does_alone(same, interpreter):
    said = same(interpreter, "everything()\nprint('the end')", "-m", "pdb",
                stdin="b leaf\nc\nw\np n\nn\nr\nclear 1\nc\nq\n")
    assert "leaf" in said and "the end" in said


TAKES_AND_GIVES_BACK = """
    import cProfile, sys, time
    def before(): pass
    def during(): time.sleep(0.05)
    def after(): pass
    def profiled():
        profile = cProfile.Profile()
        profile.enable()
        during()
        profile.disable()
    for _ in range(10):
        before()
    profiled()
    for _ in range(1000):
        after()
"""


def test_we_are_back_when_the_other_tool_is_done(python, version, record, report):
    recording = record(python, TAKES_AND_GIVES_BACK)
    assert len(recording.calls("before")) == 10
    # The interpreter calls us at its next opportunity, at the latest in the first call.
    assert 999 <= len(recording.calls("after")) <= 1000
    notes = [note for note in report()["trust"]["notes"] if "another tool" in note]
    if version >= (3, 12):
        assert len(recording.calls("during")) == 1 and not notes
        return
    assert not recording.calls("during")
    note, = notes
    said = re.match(r"calls of 1 thread were not recorded for ([\d.]+) s in total, in 1 period, "
                    r".*from ([\d.]+) s to ([\d.]+) s, replaced in profiled "
                    r"\(.*program\.py\)$", note)
    total, start, end = map(float, said.groups())
    assert 0.05 <= total <= end - start + 0.002
    # Its end was seen or not: it does not seem to last until the end.
    profiled, = recording.calls("profiled")
    assert profiled["end_us"] - profiled["start_us"] < 1e6


def test_a_tool_that_stays_is_told_of(python, version, record, report):
    recording = record(python, """
        import sys, threading
        def seen(): pass
        def unseen(): pass
        def other(): seen()
        seen()
        sys.setprofile(lambda *event: None)
        unseen()
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    """)
    notes = [note for note in report()["trust"]["notes"] if "another tool" in note]
    if version >= (3, 12):
        assert len(recording.calls("unseen")) == 1 and len(recording.calls("seen")) == 2
        assert not notes
    else:
        assert not recording.calls("unseen")
        assert len(notes) == 1 and "replaced in <module>" in notes[0]


def test_a_tool_in_one_thread_keeps_only_that_thread_from_us(python, version, record, report):
    recording = record(python, """
        import sys, threading
        def mine(): pass
        def its(): pass
        def thread_main():
            sys.setprofile(lambda *event: None)
            for _ in range(100):
                its()
            sys.setprofile(None)
            ready.set()
            while not done.is_set():
                its()
                seen[0] += 1
            for _ in range(100):
                its()
                seen[0] += 1
        seen = [100]
        ready, done = threading.Event(), threading.Event()
        thread = threading.Thread(target=thread_main)
        thread.start()
        ready.wait()
        for _ in range(5000):
            mine()
        done.set()
        thread.join()
        print(seen[0])
    """)
    called = int(recording.done.stdout)
    assert len(recording.calls("mine")) == 5000
    notes = [note for note in report()["trust"]["notes"] if "another tool" in note]
    its = len(recording.calls("its"))
    if version >= (3, 12):
        assert its == called and not notes
    else:  # back as soon as the main thread has run
        assert 0 < its <= called - 100
        assert len(notes) == 1 and "calls of 1 thread " in notes[0]


def test_a_tool_that_was_there_first_keeps_its_place(python, version, plain, write, work,
                                                     read_trace):
    write("""
        import sys, inferscope
        seen = []
        def work(): pass
        sys.setprofile(lambda frame, event, arg: seen.append((event, frame.f_code.co_name)))
        inferscope.start("r.json", trace="t.isc")
        work()
        assert ("call", "work") in seen
        sys.setprofile(None)
        for _ in range(1000):
            work()
        inferscope.stop()
    """)
    done = plain(python, "program.py")
    assert (done.returncode, done.stderr) == (0, "")
    recording = read_trace("t.isc")
    calls = len(recording.calls("work"))
    if version >= (3, 12):
        assert calls == 1001 and not recording.head["notes"]
    else:
        assert 999 <= calls <= 1000
        note, = recording.head["notes"]
        assert "another tool uses the profile function" in str(note)


TORCH = """
    import torch
    from torch.profiler import ProfilerActivity, profile
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU())
    data = torch.ones(4, 64)
    torch.set_num_threads(1)
    for with_stack in False, True, False:  # with stacks it sets profile functions as well
        with torch.no_grad():
            with profile(activities=[ProfilerActivity.CPU], with_stack=with_stack) as one:
                for _ in range(5):
                    model(data)
        print(sorted((entry.key, entry.count) for entry in one.key_averages()))
        everything()
"""


def test_torch_profiler_finds_what_it_finds_alone(same, python_with):
    assert "aten::linear" in same(python_with("torch"), TORCH)


def test_a_tool_that_leaves_at_exit_makes_nobody_print(python, inferscope, write):
    """Py_AddPendingCall() of 3.8 prints an error from there."""
    program = write("""
        import atexit, sys
        atexit.register(sys.setprofile, None)
        atexit.register(lambda: sys.setprofile(None))
    """)
    done = inferscope("run", "--quiet", "--no-trace", "--report", "r.json", "--python", python,
                      program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_interpreters_short_queue_of_calls_is_left_to_the_program(python, inferscope, write):
    """It has 32 places, and only the main thread empties it."""
    program = write("""
        import ctypes, sys, threading

        ask = ctypes.pythonapi.Py_AddPendingCall
        nothing = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(lambda argument: 0)
        results = []

        def toggle():
            for _ in range(40):
                sys.setprofile(None)
            results.append(ask(nothing, None))

        thread = threading.Thread(target=toggle)
        thread.start()
        thread.join()
        print(results)
    """)
    done = inferscope("run", "--quiet", "--no-trace", "--report", "r.json", "--python", python,
                      program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[0]\n", "")
