"""Every thread is recorded: whoever made it, and whenever."""

import json

import pytest


def threads_of(recording, name):
    """The thread entries in which a function was called."""
    by_id = {thread["id"]: thread for thread in recording.threads}
    return [by_id[event["thread"]] for event in recording.calls(name)]


def test_threads_of_every_module(python, record):
    recording = record(python, """
        import _thread, concurrent.futures, json, sys, threading
        tids = {}

        def work(kind):
            tids.setdefault(kind, set()).add(threading.get_native_id())
            for _ in range(100):
                leaf()

        def leaf(): pass

        thread = threading.Thread(target=work, args=("threading",), name="worker-7")
        thread.start(); thread.join()

        done = _thread.allocate_lock(); done.acquire()
        def raw():
            work("raw")
            done.release()
        _thread.start_new_thread(raw, ())
        done.acquire()

        barrier = threading.Barrier(3)
        def pooled():
            barrier.wait()
            work("pool")
        with concurrent.futures.ThreadPoolExecutor(3, thread_name_prefix="pool") as pool:
            for future in [pool.submit(pooled) for _ in range(3)]:
                future.result()
        json.dump({kind: sorted(ids) for kind, ids in tids.items()}, sys.stdout)
    """)
    own = json.loads(recording.done.stdout)
    assert len(own["pool"]) == 3
    assert len(recording.calls("leaf")) == 500
    threads = threads_of(recording, "work")
    assert sorted(thread["tid"] for thread in threads) == sorted(sum(own.values(), []))
    names = {thread["tid"]: thread["name"] for thread in threads}
    assert names[own["threading"][0]] == "worker-7"
    assert sorted(names[tid] for tid in own["pool"]) == ["pool_0", "pool_1", "pool_2"]
    assert [thread["name"] for thread in recording.threads][0] == "MainThread"


def test_calls_stay_on_their_thread(python, record):
    recording = record(python, """
        import threading

        def work(): a()
        def a(): b()
        def b(): pass

        def many():
            for _ in range(2000):
                work()
        threads = [threading.Thread(target=many) for _ in range(4)]
        for t in threads: t.start()
        for t in threads: t.join()
    """)
    for name in ("work", "a", "b"):
        calls = recording.calls(name)
        assert len(calls) == 8000
        per_thread = {}
        for call in calls:
            per_thread[call["thread"]] = per_thread.get(call["thread"], 0) + 1
        assert sorted(per_thread.values()) == [2000] * 4
    assert len({event["depth"] for event in recording.calls("b")}) == 1


def test_short_threads_come_and_go(python, record):
    """More threads over time than the recording has places at once."""
    recording = record(python, """
        import threading
        def work(): pass
        for _ in range(600):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
    """)
    assert len(recording.calls("work")) == 600
    assert len({event["thread"] for event in recording.calls("work")}) == 600


def test_threads_that_ran_before_start(python, plain, write, read_trace):
    write("""
        import threading, time, inferscope
        running, go = threading.Event(), threading.Event()

        def old():
            running.set()
            go.wait()
            for _ in range(50):
                leaf()

        def leaf(): pass

        thread = threading.Thread(target=old, name="old")
        thread.start()
        running.wait()
        inferscope.start("r.json", trace="t.isc")
        go.set()
        thread.join()
        inferscope.stop()
    """)
    done = plain(python, "program.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    recording = read_trace("t.isc")
    assert len(recording.calls("leaf")) == 50
    assert {thread["name"] for thread in threads_of(recording, "leaf")} == {"old"}


def test_threads_that_c_code_made(python, version, record):
    recording = record(python, """
        import ctypes, threading, time
        libc = ctypes.CDLL(None)
        arrived, done = threading.Event(), threading.Event()

        def inside():
            pass

        def main_thread_works():
            pass

        @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
        def body(_):
            for i in range(200):
                inside()
                if i == 10:
                    arrived.set()
                    done.wait()
            return None

        handle = ctypes.c_ulong()
        assert libc.pthread_create(ctypes.byref(handle), None, body, None) == 0
        arrived.wait()
        for _ in range(3000):
            main_thread_works()
        done.set()
        libc.pthread_join.argtypes = [ctypes.c_ulong, ctypes.c_void_p]
        assert libc.pthread_join(handle, None) == 0
    """)
    calls = recording.calls("inside")
    if version >= (3, 12):
        assert len(calls) == 200
    else:  # found when another thread looks around, at the latest after 1024 events
        assert 189 <= len(calls) <= 200
    main, = [t for t in recording.threads if t["name"] == "MainThread"]
    assert {event["thread"] for event in calls}.isdisjoint({main["id"]})


@pytest.mark.parametrize("ending", ["daemon", "left running"])
def test_threads_that_do_not_end_do_not_matter(python, record, ending):
    recording = record(python, """
        import os, sys, threading, time
        arrived = threading.Event()

        def forever():
            step()
            arrived.set()
            while True:
                time.sleep(0.001)

        def step(): pass

        threading.Thread(target=forever, daemon=True).start()
        arrived.wait()
        if sys.argv[1] != "daemon":
            sys.stdout.flush()
            os._exit(0)
    """, ending)
    assert len(recording.calls("step")) == 1
    assert len(recording.calls("forever")) == 1


def test_threads_with_the_smallest_stack_there_is(python, plain, write, inferscope, work):
    """To name a function takes more of it than a call does, most where the buffer is full."""
    program = write("""
        import os, signal, sys, threading

        def make(i):
            space = {}
            exec("def made%d(n): return n and made%d(n - 1)" % (i, i), space)
            return space["made%d" % i]

        def nothing(): pass
        def flood():
            for _ in range(100000):
                nothing()

        functions = [make(i) for i in range(400)]

        def work():
            for function in functions:
                function(5)

        recorder = int(sys.argv[1]) and os.getppid()
        if recorder:
            os.kill(recorder, signal.SIGSTOP)
            flood()
        threading.stack_size(32768)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        if recorder:
            os.kill(recorder, signal.SIGCONT)
        print("well")
    """)
    if plain(python, program, 0).stdout != "well\n":
        pytest.skip("this Python itself needs more")
    done = inferscope("run", "--quiet", "--trace-size-mb", "1", "--trace", "t.isc", "--python",
                      python, program, 1)
    assert (done.returncode, done.stdout) == (0, "well\n"), done.stderr
