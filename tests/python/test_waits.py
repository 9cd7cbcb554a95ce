"""What threads do and wait for: programs in which that is known."""

import json
import math
import os
import resource
import subprocess
import sys
import textwrap

import pytest

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "cli"))
import sandbox  # noqa: E402

TELL = """
import json
tids = {thread.name: thread.native_id for thread in globals().get("threads", [])}
print(json.dumps({"tids": tids, "truth": globals().get("truth")}))
"""


@pytest.fixture
def sampled(record, report):
    """
    Records a program with samples; returns the report's part about the CPU.  The program keeps
    its threads in `threads` and what is to be found in `truth`.
    """
    def run(python, text, env=None, **more):
        text = textwrap.dedent(text) + TELL
        recording = record(python, text, env={"INFERSCOPE_CPU": "auto", **(env or {})}, notes=None,
                           **more)
        found = report()
        found["cpu"]["intervals"] = recording.of("thread_state")
        found["cpu"]["away"] = recording.of("off_cpu")
        found["cpu"]["hz"] = found["trust"]["sample_hz"]
        # Threads that make few calls have no name in the trace.
        found["cpu"].update(json.loads(recording.done.stdout))
        return found["cpu"]
    return run


def thread_of(cpu, name):
    found = [t for t in cpu["threads"] if t["tid"] == cpu["tids"][name]]
    assert len(found) == 1, cpu["threads"]
    return found[0]


def share(thread, state):
    """Of the time in which it was looked at."""
    parts = {key: ms for key, ms in thread["states"].items() if key != "has_gil_ms"}
    return parts[state] / sum(parts.values())


def waits(cpu, kind, waiter, holder):
    """Milliseconds that one function waited for another one."""
    def name(place):
        return place and place["function"].rsplit(".", 1)[-1]
    return sum(row["ms"] for row in cpu[kind]["waits"]
               if (name(row["waiter"]), name(row["holder"])) == (waiter, holder))


GIL = """
    import threading, time

    def first(end):
        while time.monotonic() < end: pass

    def second(end):
        while time.monotonic() < end: pass

    end = time.monotonic() + 1.5
    threads = [threading.Thread(target=f, args=(end,), name=f.__name__) for f in (first, second)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""


@pytest.mark.measures
def test_two_threads_wait_for_the_gil_in_turn(python, sampled):
    cpu = sampled(python, GIL)
    for name, other in (("first", "second"), ("second", "first")):
        thread = thread_of(cpu, name)
        lived = thread["end_ms"] - thread["start_ms"]
        # All that it ever waits for is the lock, so it does when it is neither running nor ready.
        blocked = 1 - (thread["on_cpu_ms"] + thread["queued_ms"]) / lived
        # A busy machine leaves few looks: what chance does to those is no error (four sigma).
        chance = 4 * math.sqrt(blocked * (1 - blocked) / (cpu["hz"] * lived / 1000))
        assert abs(share(thread, "gil_wait_ms") - blocked) < 0.1 + chance, (thread, blocked)
        if thread["queued_ms"] < 0.05 * lived:  # a busy machine lets it wait for a CPU, too
            assert abs(share(thread, "gil_wait_ms") - 0.5) < 0.1, thread
        assert share(thread, "lock_wait_ms") + share(thread, "io_wait_ms") < 0.02
        mine = sum(row["ms"] for row in cpu["gil"]["waits"]
                   if row["waiter"] and row["waiter"]["function"] == name)
        assert waits(cpu, "gil", name, other) > 0.9 * mine
        assert abs(mine - thread["states"]["gil_wait_ms"]) < 0.02 * lived


@pytest.mark.measures
def test_c_code_that_lets_go_of_the_gil_is_no_contention(python, sampled):
    cpu = sampled(python, """
        import hashlib, threading, time
        data = b"x" * (16 << 20)

        def digest(end):
            while time.monotonic() < end: hashlib.sha256(data).digest()

        end = time.monotonic() + 1
        threads = [threading.Thread(target=digest, args=(end,), name="d%d" % i) for i in range(2)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    """)
    for name in ("d0", "d1"):
        thread = thread_of(cpu, name)
        assert share(thread, "gil_wait_ms") < 0.05, thread
        assert share(thread, "running_ms") > 0.9, thread


LOCK = """
    import threading, time
    lock = threading.%s()
    truth = {}

    def holder():
        with lock:
            end = time.monotonic() + 0.6
            while time.monotonic() < end: pass

    def second():
        begin = time.monotonic()
        with lock:
            truth["second"] = time.monotonic() - begin
            time.sleep(0.3)
            truth["held"] = time.monotonic() - begin - truth["second"]

    def third():
        begin = time.monotonic()
        with lock:
            truth["third"] = time.monotonic() - begin

    threads = []
    for function in (holder, second, third):
        thread = threading.Thread(target=function, name=function.__name__)
        thread.start()
        threads.append(thread)
        time.sleep(0.1)
    for thread in threads: thread.join()
"""


def test_waits_have_their_function_and_who_made_it_wait(python, sampled):
    """Whatever they take on this machine."""
    assert waits(sampled(python, LOCK % "Lock"), "locks", "second", "holder") > 0
    assert waits(sampled(python, GIL), "gil", "first", "second") > 0


def lock_errors(cpu):
    """What the report says otherwise than the threads measured, by more than 10 %."""
    ms = {name: 1e3 * seconds for name, seconds in cpu["truth"].items()}
    expected = {("second", "holder", "likely"): ms["second"],
                ("third", "holder", "likely"): ms["third"] - ms["held"],
                ("third", "second", "seen"): ms["held"]}
    found = {(row["waiter"]["function"], row["holder"]["function"], row["evidence"]): row["ms"]
             for row in cpu["locks"]["waits"] if row["holder"]}
    for name in ("second", "third"):
        expected[name] = ms[name]
        found[name] = thread_of(cpu, name)["states"]["lock_wait_ms"]
    return {key: (found.get(key), ms) for key, ms in expected.items()
            if abs(found.get(key, 0) - ms) > 0.1 * ms}


@pytest.mark.measures
@pytest.mark.parametrize("kind", ["Lock", "RLock"])
def test_who_waits_for_a_lock_and_who_has_it(python, sampled, kind):
    """
    holder() takes the lock first, without waiting: it is inferred.  second() waits for it and gets
    it: that is seen.
    """
    assert lock_errors(sampled(python, LOCK % kind)) == {}  # found, expected


@pytest.mark.measures
def test_waiting_for_work_is_no_contention(python, sampled):
    cpu = sampled(python, """
        import concurrent.futures, queue, threading, time
        q = queue.Queue()

        def consume():
            while q.get(): pass

        thread = threading.Thread(target=consume, name="consumer")
        threads = [thread]
        thread.start()
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            pool.submit(time.sleep, 0.5).result()
        q.put(None)
        thread.join()
    """)
    assert thread_of(cpu, "consumer")["states"]["lock_wait_ms"] > 400
    assert cpu["locks"]["wait_ms"] < 20, cpu["locks"]


@pytest.mark.measures
def test_reading_a_pipe_is_io_and_sleeping_is_not(python, sampled):
    cpu = sampled(python, """
        import os, threading, time
        readable, writable = os.pipe()

        def read():
            os.read(readable, 1)

        def sleep():
            time.sleep(0.5)

        threads = [threading.Thread(target=f, name=f.__name__) for f in (read, sleep)]
        for thread in threads: thread.start()
        time.sleep(0.5)
        os.write(writable, b"x")
        for thread in threads: thread.join()
    """)
    for name, state in (("read", "io_wait"), ("sleep", "sleep")):
        assert abs(thread_of(cpu, name)["states"][state + "_ms"] - 500) < 50
        assert share(thread_of(cpu, name), state + "_ms") > 0.9
        # On the timeline it is one interval, as exact as it says.
        wait = max((i for i in cpu["intervals"] if i["tid"] == cpu["tids"][name]), key=length)
        assert wait["name"] == state
        assert abs(length(wait) - 500) < 50
        assert 0 < wait["error_us"] < 50e3


def length(interval):
    return (interval["end_us"] - interval["start_us"]) / 1e3


BURN_AND_SLEEP = """
    import threading, time

    def burn(seconds):
        end = time.thread_time() + seconds
        while time.thread_time() < end: sum(range(500))

    def alternate():
        for _ in range(10):
            burn(0.05)
            time.sleep(0.05)

    thread = threading.Thread(target=alternate, name="alternate")
    threads = [thread]
    thread.start()
    thread.join()
"""


@pytest.mark.measures
def test_running_time_is_what_the_kernel_counted(python, sampled):
    """On a CPU or ready for one: samples and schedstat agree within 5 %."""
    thread = thread_of(sampled(python, BURN_AND_SLEEP), "alternate")
    ready = thread["on_cpu_ms"] + thread["queued_ms"]
    assert abs(thread["states"]["running_ms"] - ready) < 0.05 * ready, thread


def permitted():
    """Whether this machine lets us sample native code."""
    found = subprocess.run([os.environ["INFERSCOPE_BIN"], "doctor", "--json"],
                           stdout=subprocess.PIPE).stdout
    return {answer["name"]: answer for answer in json.loads(found)["answers"]}["native samples"]


NATIVE = """
    import hashlib, time
    data = b"x" * (4 << 20)

    def digest(): return hashlib.sha1(data).digest()

    def spin(end):
        while time.process_time() < end: pass

    begin = time.process_time()
    while time.process_time() < begin + 0.7: digest()
    spin(begin + 1)
"""


@pytest.mark.measures
def test_native_functions_stand_under_their_python_function(python, sampled):
    if permitted()["status"] != "ok":
        pytest.skip(permitted()["found"])
    cpu = sampled(python, NATIVE)
    assert cpu["native_samples"] > 20
    assert abs(sum(row["samples"] for row in cpu["native"]) - cpu["native_samples"]) < 20
    of_digest = [row for row in cpu["native"]
                 if row["python"] and row["python"]["function"] == "digest"]
    assert sum(row["samples"] for row in of_digest) > 0.4 * cpu["native_samples"]
    # Whichever library has it (libcrypto, or the interpreter's own), its name says what it does.
    assert "sha1" in (of_digest[0]["symbol"] or of_digest[0]["library"]).lower() \
        or "crypto" in of_digest[0]["library"], of_digest


@pytest.mark.measures
def test_native_functions_of_numpy_have_names(python_with, sampled):
    if permitted()["status"] != "ok":
        pytest.skip(permitted()["found"])
    cpu = sampled(python_with("numpy"), """
        import numpy, time
        a = numpy.random.rand(300, 300)

        def multiply(): return a @ a

        end = time.process_time() + 1
        while time.process_time() < end: multiply()
    """, env={"OPENBLAS_NUM_THREADS": "1"})
    rows = [row for row in cpu["native"] if row["python"] and
            row["python"]["function"] == "multiply" and row["symbol"]]
    assert "gemm" in rows[0]["symbol"], rows
    assert rows[0]["self_share"] > 0.3


@pytest.mark.measures
def test_times_without_a_cpu_are_exact(python, sampled):
    if permitted()["status"] != "ok":
        pytest.skip(permitted()["found"])
    cpu = sampled(python, """
        import threading, time
        truth = []

        def sleep():
            time.sleep(0.2)  # the kernel is asked for a new thread within a tenth of a second
            for _ in range(8):
                begin = time.monotonic()
                time.sleep(0.06)
                truth.append(time.monotonic() - begin)

        threads = [threading.Thread(target=sleep, name="sleeper")]
        threads[0].start()
        threads[0].join()
    """)
    naps = [interval for interval in cpu["away"] if interval["tid"] == cpu["tids"]["sleeper"]
            and interval["name"] == "waiting" and 55 < length(interval) < 190]
    assert len(naps) >= 2  # on a busy machine the first ones are missed
    for nap in naps:
        # It was ready a little earlier than it noticed.
        assert 59 < length(nap) < 1e3 * max(cpu["truth"]) + 0.1, (nap, cpu["truth"])
    assert thread_of(cpu, "sleeper")["absences"]["waited_ms"] >= sum(map(length, naps)) - 0.01


@pytest.mark.measures
@pytest.mark.skipif(not sandbox.supported(), reason="no seccomp filter for this machine")
def test_without_perf_events_all_else_is_there(pythons, sampled):
    cpu = sampled(pythons[-1], GIL, preexec_fn=sandbox.refuse("perf_event_open"))
    assert (cpu["native_samples"], cpu["native"]) == (0, [])
    assert cpu["gil"]["wait_ms"] > 100
    assert thread_of(cpu, "first")["on_cpu_ms"] > 100


@pytest.mark.measures
def test_threads_that_only_samples_know_have_cpu_times(python, record, report):
    """Without calls nobody but the kernel tells what a thread used; it is asked all the time."""
    recording = record(python, """
        import json, threading, time
        used = {}

        def burn(seconds):
            begin = time.thread_time()
            while time.thread_time() < begin + seconds: sum(range(500))
            used[threading.get_native_id()] = time.thread_time() - begin

        threads = [threading.Thread(target=burn, args=(s,)) for s in (0.3, 0.5)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(json.dumps(used))
    """, env={"INFERSCOPE_CPU": "sample"}, notes=None)
    threads = {thread["tid"]: thread for thread in report()["cpu"]["threads"]}
    for tid, used in json.loads(recording.done.stdout).items():
        assert abs(threads[int(tid)]["on_cpu_ms"] / 1e3 - used) < 0.05 + 0.05 * used


@pytest.mark.measures
def test_more_threads_than_files_may_be_open(pythons, sampled):
    """What some of them do is unknown then, but the recorder has the files that it needs."""
    cpu = sampled(pythons[-1], """
        import threading, time
        done = threading.Event()
        threads = [threading.Thread(target=done.wait) for _ in range(100)]
        for thread in threads: thread.start()
        time.sleep(0.3)
        done.set()
        for thread in threads: thread.join()
    """, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
    waiting = [t for t in cpu["threads"] if t["states"] and t["states"]["lock_wait_ms"] > 100]
    unknown = [t for t in cpu["threads"] if t["states"] and t["states"]["unknown_ms"] > 100]
    assert waiting and unknown
