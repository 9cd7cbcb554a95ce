"""Children of the workload are recorded as processes of their own, however they were made."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest


def pids_of(recording, name):
    return {event["pid"] for event in recording.calls(name)}


def test_fork(python, record):
    recording = record(python, """
        import os
        from inferscope import scope

        def in_parent(): pass
        def in_child(): pass
        def in_both(): pass

        in_parent()
        with scope("around"):
            pid = os.fork()
            in_both()
            if pid == 0:
                with scope("child"):
                    for _ in range(100):
                        in_child()
                os._exit(0)
            os.waitpid(pid, 0)
        in_parent()
        print(os.getpid(), pid)
    """)
    parent, child = map(int, recording.done.stdout.split())
    assert {p["pid"]: p["parent_pid"] for p in recording.processes}[child] == parent
    assert pids_of(recording, "in_parent") == {parent}
    assert pids_of(recording, "in_child") == {child}
    assert pids_of(recording, "in_both") == {parent, child}
    assert len(recording.calls("in_child")) == 100
    assert len(recording.calls("in_parent")) == 2
    assert {e["pid"] for e in recording.of("scope_enter", "child")} == {child}


def test_a_fork_among_threads(python, record):
    recording = record(python, """
        import os, threading
        stop = threading.Event()

        def busy():
            while not stop.wait(0.0005):
                leaf()
        def leaf(): pass
        def in_child(): pass

        threads = [threading.Thread(target=busy) for _ in range(3)]
        for t in threads: t.start()
        for _ in range(20):
            pid = os.fork()
            if pid == 0:
                for _ in range(50):
                    in_child()
                os._exit(3)
            assert os.waitpid(pid, 0)[1] == 3 << 8
        stop.set()
        for t in threads: t.join()
    """, stderr=None)  # 3.12 warns of forking with threads
    assert len(recording.calls("in_child")) == 20 * 50
    assert len(pids_of(recording, "in_child")) == 20
    assert pids_of(recording, "leaf").isdisjoint(pids_of(recording, "in_child"))


def test_subprocess(python, record, report):
    recording = record(python, """
        import subprocess, sys
        def outer(): pass
        outer()
        if len(sys.argv) == 1:
            subprocess.check_call([sys.executable, __file__, "child"])
            subprocess.check_call([sys.executable, "-c", "def one(): pass\\none()"])
            subprocess.check_call(["true"])
    """)
    assert len(recording.processes) == 3
    assert len(pids_of(recording, "outer")) == 2
    one, = recording.of("cpu_function", "one")
    assert one["pid"] not in pids_of(recording, "outer")
    assert sorted(p["role"] for p in report()["processes"]) == ["child", "child", "main"]


def test_exec(python, record):
    recording = record(python, """
        import os, sys
        def before(): pass
        def after(): pass
        if len(sys.argv) == 1:
            before()
            os.execv(sys.executable, [sys.executable, __file__, "again"])
        after()
        print(os.getpid())
    """)
    pid = int(recording.done.stdout)
    assert pids_of(recording, "before") == pids_of(recording, "after") == {pid}
    assert len(recording.calls("before")) == len(recording.calls("after")) == 1


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(python, record, method):
    recording = record(python, """
        import multiprocessing, os, sys

        def square(x):
            helper()
            return x * x
        def helper(): pass

        if __name__ == "__main__":
            multiprocessing.set_start_method(sys.argv[1])
            with multiprocessing.Pool(2) as pool:
                print(sum(pool.map(square, range(40))))
                pool.close()
                pool.join()
    """, method, notes=None)  # its helper processes may end later than the program
    assert recording.done.stdout == "%d\n" % sum(x * x for x in range(40))
    assert len(recording.calls("square")) == len(recording.calls("helper")) == 40
    main = recording.processes[0]["pid"]
    assert main not in pids_of(recording, "square")


def test_a_child_that_lives_on_is_let_go(python, record, work):
    recording = record(python, """
        import os, sys, time
        def step(): pass
        step()
        sys.stdout.flush()
        if os.fork() == 0:
            os.setsid()
            devnull = os.open(os.devnull, os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(devnull, fd)
            os.close(devnull)
            step()
            open("running.txt", "w").close()
            end = time.time() + 100
            while time.time() < end and not os.path.exists("seen.txt"):
                step()
            time.sleep(0.2)
            for _ in range(1000):
                step()
            open("survived.txt", "w").close()
            os._exit(0)
        while not os.path.exists("running.txt"):
            time.sleep(0.01)
    """, notes=1)
    assert recording.head["notes"] == [
        "1 child process outlived the workload and was no longer recorded "
        "(--wait-children waits for them)"]
    (work / "seen.txt").write_text("")
    end = time.monotonic() + 120
    while not (work / "survived.txt").exists():
        assert time.monotonic() < end, "the child did not live on"
        time.sleep(0.02)


def test_what_multiprocessing_leaves_to_tidy_up_is_no_news(python, record, report):
    record(python, """
        import multiprocessing, time
        def work(x):
            end = time.process_time() + 0.2
            while time.process_time() < end:
                pass
        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(2) as pool:
                pool.map(work, range(2))
    """)
    told = report()
    assert [note for note in told["trust"]["notes"] if "outlived" in note] == []
    assert not any("resource_tracker" in f["file"] for f in told["cpu"]["functions"][:3])


def test_children_are_waited_for_on_demand(python, inferscope, write, read_trace):
    write("""
        import os, time
        def late(): pass
        if os.fork() == 0:
            time.sleep(0.3)
            for _ in range(10):
                late()
    """)
    done = inferscope("run", "--quiet", "--wait-children", "--python", python, "--trace", "t.isc",
                      "program.py")
    assert (done.returncode, done.stderr) == (0, "")
    recording = read_trace("t.isc")
    assert recording.head["notes"] == []
    assert len(recording.calls("late")) == 10


def test_children_are_let_go_when_the_recorder_is_asked_to_end(binary, clean_env, work):
    """Not the workload: that has ended, and its number may be another process's."""
    recorder = subprocess.Popen(
        [binary, "run", "--quiet", "--wait-children", "--trace", "t.isc", "--report", "r.json",
         "--", "sh", "-c", "sleep 60 & echo $! $$"], cwd=str(work), env=clean_env,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, universal_newlines=True)
    sleeper, shell = map(int, recorder.stdout.readline().split())
    try:
        while os.path.exists("/proc/%d" % shell):
            time.sleep(0.01)
        time.sleep(0.1)
        recorder.send_signal(signal.SIGTERM)
        assert recorder.wait(120) == 0
        os.kill(sleeper, 0)  # it lives
    finally:
        recorder.stdout.close()
        os.kill(sleeper, signal.SIGKILL)
    assert (work / "r.json").exists()


def test_a_pid_namespace(python, inferscope, write, work, read_trace):
    """There the program is number 1; the recorder's number 1 is somebody else."""
    if subprocess.run(["unshare", "--fork", "--pid", "true"], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("no right to make one, or no unshare(1)")
    write("""
        import os, threading
        def leaf(): pass
        def work():
            leaf()
            print(*os.readlink("/proc/thread-self").split("/task/"), flush=True)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        while len(os.listdir("/proc/self/task")) > 1:
            pass  # Python's join() does not wait for it, and os.fork() of 3.12 warns of it
        work()
        child = os.fork()
        if not child:
            work()
            os._exit(0)
        os.waitpid(child, 0)
        assert os.getpid() == 1
    """)
    done = inferscope("run", "--quiet", "--cpu", "auto", "--max-overhead", "100", "--trace",
                      "t.isc", "--report", "r.json", "--", "unshare", "--fork", "--pid", python,
                      "program.py")
    assert (done.returncode, done.stderr) == (0, "")
    recording = read_trace("t.isc", done)
    numbers = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    tid_of = {thread["id"]: thread["tid"] for thread in recording.threads}
    assert sorted((call["pid"], tid_of[call["thread"]]) for call in recording.calls("leaf")) == \
        sorted(numbers)
    notes = recording.head["notes"]
    assert len(notes) == 2 and all("its own PID namespace" in note for note in notes), notes


def test_a_program_that_is_not_python(inferscope, work, read_trace):
    done = inferscope("run", "--quiet", "--trace", "t.isc", "--", "sh", "-c", "echo said; exit 4")
    assert (done.returncode, done.stdout) == (4, "said\n")
    done = inferscope("run", "--quiet", "--trace", "t.isc", "--",
                      "sh", "-c", "exec %s -c 'def one(): pass\none()'" % sys.executable)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(read_trace("t.isc", program=os.path.basename("<string>")).calls("one")) == 1


def test_a_recorder_that_is_gone_and_its_pid_another_programs(python, clean_env, work, root):
    """The session names files of ours: they are neither written to nor mapped."""
    (work / "shim").mkdir()
    shutil.copy(os.path.join(root, "python/shim/sitecustomize.py"), str(work / "shim"))
    with open(str(work / "mine"), "w+b") as mine:
        mine.write(b"precious" * 1000)
        mine.flush()
        done = subprocess.run(
            [python, "-c", "print('ran')"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**clean_env, "PYTHONPATH": str(work / "shim"), "INFERSCOPE_SESSION":
                 "%d.%d.%d.123" % (os.getpid(), mine.fileno(), mine.fileno())})
    assert (done.returncode, done.stdout, done.stderr) == (0, b"ran\n", b"")
    assert (work / "mine").read_bytes() == b"precious" * 1000
