"""CPU times of threads: what the report says against what the threads measured themselves."""

import json

import pytest

pytestmark = pytest.mark.measures

PROGRAM = """
    import json, sys, threading, time
    used = {}

    def burn(seconds):
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            sum(range(200))

    def work(seconds):
        begin = time.thread_time()
        burn(seconds)
        time.sleep(0.1)
        used[threading.get_native_id()] = time.thread_time() - begin

    threads = [threading.Thread(target=work, args=(0.1 * n,)) for n in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    work(0.25)
    json.dump({"used": used, "main": threading.get_native_id()}, sys.stdout)
"""


def test_on_cpu_time_is_what_the_thread_used(python, record, report):
    own = json.loads(record(python, PROGRAM).done.stdout)
    threads = {thread["tid"]: thread for thread in report()["cpu"]["threads"]}
    assert len(own["used"]) == 4
    for tid, used in own["used"].items():
        shown = threads[int(tid)]["on_cpu_ms"] / 1e3
        assert abs(shown - used) < 0.03 + 0.05 * used, (tid, used, shown)
        assert threads[int(tid)]["queued_ms"] >= 0


def test_threads_that_are_killed_have_times_too(python, record, report):
    """Of a thread that runs when its process ends, the last figures are at most 0.2 s old."""
    recording = record(python, """
        import os, threading, time

        def burn(seconds):
            end = time.thread_time() + seconds
            while time.thread_time() < end:
                sum(range(200))

        def forever():
            burn(1e9)

        thread = threading.Thread(target=forever, daemon=True)
        thread.start()
        burn(0.5)
        print(thread.native_id, time.thread_time(), flush=True)
        os._exit(0)
    """)
    tid, used = recording.done.stdout.split()
    threads = {thread["tid"]: thread for thread in report()["cpu"]["threads"]}
    main = threads.pop(recording.threads[0]["tid"])
    daemon = threads[int(tid)]
    # The interpreter's start is not recorded: less than it used, but the burnt half second is.
    assert 0.49 < main["on_cpu_ms"] / 1e3 < float(used) + 0.02
    assert 0 < daemon["on_cpu_ms"] < daemon["end_ms"] - daemon["start_ms"]
    # Both fought for the interpreter's lock, so it had a like share.
    assert daemon["on_cpu_ms"] > 100
