"""Kills and stops at random moments: what was published before is in the trace.

The workload counts what it has done in a file that it maps, each time after the
event was made: of n counted, n or n + 1 are in the trace, without a gap.  A
failure names the seed that repeats its moments.
"""

import mmap
import os
import random
import signal
import struct
import subprocess
import time

import pytest

# Numbers the marks of each thread; now and then a name that was not seen before, so that
# definitions are under way too.  It ends by itself when `limit` is reached; -1: never.  Before the
# mark `hold` it waits for a file "go"; -1: it does not.
WORKLOAD = """
    import mmap, os, sys, threading, time
    from inferscope import mark_event
    threads, limit, hold = map(int, sys.argv[1:])
    sys.setswitchinterval(0.0002)
    file = open("counts", "r+b")
    counts = memoryview(mmap.mmap(file.fileno(), 4096)).cast("Q")
    def step(): pass
    def work(slot):
        i = 0
        while i != limit:
            while i == hold and not os.path.exists("go"):
                time.sleep(0.001)
            step()
            mark_event("mark %d" % (i // 100), slot=slot, i=i)
            i += 1
            counts[slot] = i  # one store; struct.pack_into() would write zeros first
    others = [threading.Thread(target=work, args=(slot,)) for slot in range(1, threads)]
    for t in others: t.start()
    work(0)
    for t in others: t.join()
    print("done")
"""


class Run:
    """`inferscope run` on the workload, with its counts."""

    def __init__(self, binary, python, env, folder, threads, limit, options=(), hold=-1):
        (folder / "counts").write_bytes(b"\0" * 4096)
        self.threads = threads
        self.file = open(str(folder / "counts"), "r+b")
        self.map = mmap.mmap(self.file.fileno(), 4096)
        self.process = subprocess.Popen(
            [binary, "run", "--quiet", "--no-gpu", "--python", python, "--trace", "t.isc",
             *options, "program.py", str(threads), str(limit), str(hold)],
            cwd=str(folder), env=env,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)

    def counts(self):
        return struct.unpack_from("=%dQ" % self.threads, self.map)

    def wait_for_work(self, marks=1):
        """Until every thread has made so many marks."""
        end = time.monotonic() + 120
        while min(self.counts()) < marks:
            assert time.monotonic() < end and self.process.poll() is None, "never began"
            time.sleep(0.0005)

    def workload(self):
        """The pid of the workload, once it is there."""
        path = "/proc/%d/task/%d/children" % (self.process.pid, self.process.pid)
        end = time.monotonic() + 120
        while time.monotonic() < end:
            with open(path) as file:
                pids = file.read().split()
            if pids:
                return int(pids[0])
        pytest.fail("no workload")

    def end(self):
        out, err = self.process.communicate(timeout=240)
        counts = self.counts()
        self.map.close()
        self.file.close()
        return self.process.returncode, out, err, counts


@pytest.fixture
def start(binary, clean_env, work, write):
    write(WORKLOAD)

    def run(python, threads, limit=-1, options=(), hold=-1):
        if (work / "go").exists():
            (work / "go").unlink()
        return Run(binary, python, clean_env, work, threads, limit, options, hold)
    return run


def marks_by_slot(recording, threads):
    found = [[] for _ in range(threads)]
    for event in recording.of("instant"):
        args = event["args"]
        assert event["name"] == "mark %d" % (args["i"] // 100)
        found[args["slot"]].append(args["i"])
    return found


def check_whole(recording):
    assert recording.head["damage"] is None
    assert recording.head["notes"] == []
    assert [thread["lost"] for thread in recording.threads] == [0] * len(recording.threads)


def kill_once(start, read_trace, python, threads, moment):
    """
    Kills the workload after so many marks of each thread, or (a negative moment) so many
    seconds after it was started; returns how many marks it had made.
    """
    run = start(python, threads)
    pid = run.workload()
    if moment < 0:
        time.sleep(-moment)
    else:
        run.wait_for_work(moment)
    os.kill(pid, signal.SIGKILL)
    status, out, err, counts = run.end()
    assert (status, out) == (128 + signal.SIGKILL, "")
    if not any(counts):
        read_trace("t.isc")  # it opens; the agent may not have been there yet
        return 0
    assert err == ""
    recording = read_trace("t.isc")
    check_whole(recording)
    assert recording.head["exit_status"] == 128 + signal.SIGKILL
    for done, marks in zip(counts, marks_by_slot(recording, threads)):
        assert marks == list(range(len(marks)))
        assert done <= len(marks) <= done + 1
    # The step of each mark was over before it.
    assert len(recording.calls("step")) >= sum(counts)
    return sum(counts)


def kill_often(start, read_trace, pythons, kills, seed):
    rng = random.Random(seed)
    total = 0
    for i in range(kills):
        moment = -rng.uniform(0, 0.15) if i % 5 == 4 else rng.randrange(1, 1000)
        threads = 1 if i % 2 else rng.choice((2, 3, 5))
        python = pythons[i % len(pythons)]
        try:
            total += kill_once(start, read_trace, python, threads, moment)
        except AssertionError:
            print("seed %d, kill %d: %s, %d threads, %s" % (seed, i, python, threads, moment))
            raise
    print("%d kills, %d marks, seed %d" % (kills, total, seed))


def test_kills_at_random_moments(start, read_trace, pythons):
    kill_often(start, read_trace, pythons, 12, random.randrange(1 << 30))


@pytest.mark.long
def test_200_kills_at_random_moments(start, read_trace, pythons):
    kill_often(start, read_trace, pythons, 200, random.randrange(1 << 30))


def kill_the_recorder(start, inferscope, work, python, threads, marks, limit=4000):
    """After so many marks of each thread, at the latest when half of them are made."""
    run = start(python, threads, limit, hold=limit // 2)
    run.wait_for_work(marks)
    run.process.kill()
    (work / "go").touch()
    # The pipes close when the workload ends: it was told nothing.
    status, out, err, counts = run.end()
    assert (out, err) == ("done\n", "")
    assert counts == (limit,) * threads
    done = inferscope("analyze", "--quiet", "t.isc", "--report", "r.json")
    assert done.returncode == 0, done.stderr
    assert status == -signal.SIGKILL
    assert done.stderr.endswith("; the report is partial\n")


@pytest.mark.parametrize("threads", [1, 3])
def test_the_recorder_is_killed_at_a_random_moment(start, inferscope, work, pythons, threads):
    """The workload ends as if alone; the trace is good up to its last whole block."""
    seed = random.randrange(1 << 30)
    rng = random.Random(seed)
    print("seed", seed)
    for _ in range(3):
        kill_the_recorder(start, inferscope, work, rng.choice(pythons), threads,
                          rng.randrange(1, 2000))


@pytest.mark.long
def test_100_kills_of_the_recorder(start, inferscope, work, pythons):
    seed = random.randrange(1 << 30)
    rng = random.Random(seed)
    print("seed", seed)
    for _ in range(100):
        kill_the_recorder(start, inferscope, work, rng.choice(pythons), rng.choice((1, 2, 4)),
                          rng.randrange(1, 15000), limit=30000)


def stop_and_go(pid, rng, times, longest):
    for _ in range(times):
        time.sleep(rng.uniform(0, 0.02))
        try:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(rng.uniform(0, longest))
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            return


def stop_often(start, read_trace, python, stops, limit, seed):
    rng = random.Random(seed)
    print("seed", seed)
    run = start(python, 2, limit)
    pid = run.workload()
    run.wait_for_work()
    stop_and_go(pid, rng, stops, 0.03)
    assert run.end() == (0, "done\n", "", (limit, limit))
    recording = read_trace("t.isc")
    check_whole(recording)
    assert marks_by_slot(recording, 2) == [list(range(limit))] * 2
    assert len(recording.calls("step")) == 2 * limit


def test_a_workload_that_is_stopped_and_continued(start, read_trace, pythons):
    stop_often(start, read_trace, pythons[-1], 10, 20000, random.randrange(1 << 30))


@pytest.mark.long
def test_200_stops_of_the_workload(start, read_trace, pythons):
    for python in pythons:
        stop_often(start, read_trace, python, 200 // len(pythons) + 1, 100000,
                   random.randrange(1 << 30))


def test_a_recorder_that_is_stopped(start, read_trace, pythons):
    """The workload does not wait for it: the oldest events go, and are counted."""
    limit = 60000
    run = start(pythons[-1], 2, limit, ["--trace-size-mb", "2"])
    pid = run.workload()
    run.wait_for_work()
    os.kill(run.process.pid, signal.SIGSTOP)
    end = time.monotonic() + 200
    while run.counts() != (limit, limit):
        assert time.monotonic() < end, "the workload waits for the recorder"
        time.sleep(0.01)
    os.kill(run.process.pid, signal.SIGCONT)
    assert run.end() == (0, "done\n", "", (limit, limit))
    recording = read_trace("t.isc")
    assert recording.head["damage"] is None
    assert {p["pid"] for p in recording.processes} == {pid}
    lost = sum(thread["lost"] for thread in recording.threads)
    found = marks_by_slot(recording, 2)
    assert lost > 0
    assert all(marks == sorted(set(marks)) for marks in found)
    assert all(marks[-1] == limit - 1 for marks in found), "the newest are kept"
    missing = 2 * limit - sum(map(len, found))
    assert 0 < missing <= lost
