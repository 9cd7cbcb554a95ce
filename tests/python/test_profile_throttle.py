"""The overhead budget on CPython 3.8 to 3.11: calls are recorded in bursts, and nobody notices."""

import pytest

FIB = """
    import sys, threading, time

    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    def busy(seconds):
        '''Calls all the time.'''
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            fib(12)
"""


@pytest.fixture
def clean_env(clean_env):
    """
    Twice the default budget: on a machine that is busy with other things what the recorder
    costs may be all of the default, and then nothing at all is recorded call by call.
    """
    return {**clean_env, "INFERSCOPE_CPU": "auto", "INFERSCOPE_MAX_OVERHEAD": "10"}


# For those in which recording has to go on before the program ends, on a busy machine as well.
SOON = {"INFERSCOPE_MAX_OVERHEAD": "30"}


@pytest.fixture(autouse=True)
def versions_with_bursts(version):
    if version >= (3, 12):
        pytest.skip("single functions can be left out")


@pytest.fixture
def burst(record, report):
    """Records a program that is FIB and the rest; returns the recording and the report."""
    def run(python, text, **more):
        return record(python, FIB + text, **more), report()
    return run


def traced(trace, name=None):
    """Pieces of functions that were recorded call by call; samples tell of the rest."""
    return [e for e in trace.functions(name) if "sampled" not in e]


def calls(trace, name):
    return [e for e in traced(trace, name) if "resumed" not in e]


def nothing_is_damaged(trust):
    return not (trust["dropped"] or trust["repaired_spans"] or trust["spans_open_at_start"])


@pytest.mark.measures
def test_a_program_that_only_calls_is_recorded_in_bursts(burst, python):
    # A second is enough where this machine does nothing else.
    trace, report = burst(python, """
    busy(2.5)
    print(fib(15))
    """)
    assert trace.done.stdout == "610\n"
    trust = report["trust"]
    assert trust["pauses"] >= 3
    assert 0.005 < trust["calls_recorded_share"] < 0.6
    assert report["cpu"]["calls_are_minima"]
    assert any("call counts are lower bounds" in note for note in trust["notes"])
    assert not any("another tool" in note for note in trust["notes"])
    assert nothing_is_damaged(trust)
    assert len(trace.of("calls_paused")) == trust["pauses"]
    # Calls in bursts, none in between, and in each burst one knows where the thread is.
    pauses = sorted((p["start_us"], p["end_us"]) for p in trace.of("calls_paused"))
    for start, end in pauses:
        assert not [e for e in traced(trace) if start < e["start_us"] < end]
    later = [e for e in traced(trace, "busy") if e["start_us"] > pauses[0][0]]
    assert len(later) >= 2 and all(e.get("resumed") for e in later)
    assert {e["depth"] for e in traced(trace, "busy")} == {1}


@pytest.mark.measures
def test_a_program_that_calls_little_is_recorded_wholly(burst, python):
    """Once the imports at its start are paid for."""
    trace, report = burst(python, """
    def step():
        time.sleep(0.02)
    time.sleep(0.6)
    for _ in range(20):
        step()
    """)
    steps = calls(trace, "step")
    assert len(steps) == 20
    assert not [p for p in trace.of("calls_paused") if p["end_us"] > steps[0]["start_us"]]
    assert nothing_is_damaged(report["trust"])


def test_without_a_bound_every_call_is_recorded(burst, clean_env, python):
    trace, report = burst(python, """
    for _ in range(20):
        fib(15)
    """, env={**clean_env, "INFERSCOPE_MAX_OVERHEAD": "100"})
    assert len(calls(trace, "fib")) == 20 * 1973
    assert report["trust"]["pauses"] == 0


@pytest.mark.measures
def test_a_loop_without_calls_is_let_go(burst, clean_env, python, version):
    """From 3.10 on a profile function slows down every instruction; nothing calls us meanwhile."""
    trace, report = burst(python, env={**clean_env, "INFERSCOPE_MAX_OVERHEAD": "2"}, text="""
    def loop():
        end = time.perf_counter()
        for i in range(12000000):
            end += i & 1
        return end
    from inferscope import mark_event
    loop()
    mark_event("looped")
    busy(0.2)
    """)
    looped = trace.of("instant", "looped")[0]["start_us"]
    inside = [p for p in trace.of("calls_paused") if p["start_us"] < looped]
    assert bool(inside) == (version >= (3, 10))
    assert nothing_is_damaged(report["trust"])


@pytest.mark.measures
def test_c_code_costs_nothing_and_is_recorded_wholly(burst, python):
    """A function that lets the GIL go, and an operator, which no event tells of."""
    trace, report = burst(python, """
    import hashlib
    block, number = bytes(1 << 20), 7 ** 40000
    def step():
        hashlib.sha256(block).digest()
        return number * number
    time.sleep(0.5)
    end = time.perf_counter() + 1.5
    steps = 0
    while time.perf_counter() < end:
        step()
        steps += 1
    print(steps)
    """, env=SOON)
    steps = int(trace.done.stdout)
    assert 0.9 * steps <= len(calls(trace, "step")) <= steps
    assert nothing_is_damaged(report["trust"])


@pytest.mark.measures
def test_threads_pause_and_go_on_by_themselves(burst, python):
    trace, report = burst(python, """
    go = threading.Event()
    def work():
        go.wait()
        busy(1.5)
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    busy(0.1)
    print(threading.active_count(), len(threading.enumerate()))
    go.set()
    for thread in threads:
        thread.join()
    print(threading.active_count(), len(sys._current_frames()))
    """, env=SOON)
    assert trace.done.stdout == "9 9\n1 1\n"
    assert len({p["thread"] for p in trace.of("calls_paused")}) > 4
    assert nothing_is_damaged(report["trust"])


@pytest.mark.measures
def test_a_thread_that_begins_in_a_pause_is_seen_later(burst, python):
    trace, report = burst(python, """
    busy(0.1)
    def work():
        busy(1.2)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    """, env=SOON)
    main = next(t["id"] for t in trace.threads if t["tid"] == trace.processes[0]["pid"])
    assert [e for e in traced(trace, "work") if e["thread"] != main]
    assert nothing_is_damaged(report["trust"])


@pytest.mark.measures
def test_a_child_forked_in_a_pause_is_recorded(burst, python):
    trace, report = burst(python, """
    import os
    for _ in range(2):
        busy(0.1)
        child = os.fork()
        if not child:
            busy(0.4)
            os._exit(5)
        print(os.waitpid(child, 0)[1] >> 8)
    """, env=SOON)
    assert trace.done.stdout == "5\n5\n"
    assert len(trace.processes) == 3
    main = trace.processes[0]["pid"]
    assert len({e["pid"] for e in traced(trace, "fib") if e["pid"] != main}) == 2
    assert nothing_is_damaged(report["trust"])


@pytest.mark.measures
def test_generators_and_exceptions_stay_nested(burst, python):
    trace, report = burst(python, """
    def numbers(n):
        for i in range(n):
            yield i
    def chained(n):
        yield from numbers(n)
    def fails(i):
        if i % 3 == 0:
            raise ValueError(i)
        return i
    def tries(n):
        caught = 0
        for i in chained(n):
            try:
                fails(i)
            except ValueError:
                caught += 1
        return caught
    print(sum(tries(300) for _ in range(500)))
    """)
    assert trace.done.stdout == "50000\n"
    assert report["trust"]["pauses"] >= 1
    assert nothing_is_damaged(report["trust"])


@pytest.mark.measures
def test_another_tool_in_a_pause_sees_what_it_sees_without_us(burst, plain, python, work):
    text = """
    import cProfile, pstats
    for _ in range(5):
        busy(0.06)
        profile = cProfile.Profile()
        profile.runcall(fib, 10)
        print(sorted((key[2], value[:2]) for key, value in pstats.Stats(profile).stats.items()))
    busy(0.2)
    print(sys.getprofile())
    """
    trace, report = burst(python, text, env=SOON)
    assert trace.done.stdout == plain(python, work / "program.py").stdout
    assert report["trust"]["pauses"] >= 2
    # Whether recording paused just then or not, it is told of.
    assert any("another tool replaced the profile function" in n for n in report["trust"]["notes"])


def test_the_end_comes_at_any_moment(record, inferscope, write, work, python):
    """Whatever the tender is about to do: asleep, due, waiting for the GIL."""
    write(FIB + """
    busy(float(sys.argv[1]))
    sys.exit(3)
    """)
    for ms in range(10, 130, 12):
        done = inferscope("run", "--quiet", "--no-trace", "--report", "end.json", "--python",
                          python, work / "program.py", str(ms / 1000))
        assert (done.returncode, done.stdout, done.stderr) == (3, "", "")


def test_the_end_comes_before_the_tender_has_begun(inferscope, doubles, write, work, python):
    """It makes a thread state, and the interpreter that has it must be there to the end of that."""
    write(FIB + """
    busy(0.3)
    print("bye")
    """)
    done = inferscope("run", "--quiet", "--no-trace", "--report", "end.json", "--", "env",
                      "LD_PRELOAD=" + doubles.path("liblate_thread.so"), "LATE_THREAD_MS=900",
                      python, work / "program.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "bye\n", "")
