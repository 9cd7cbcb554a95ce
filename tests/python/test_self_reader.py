"""Sampling where the kernel refuses: a thread of the agent reads, and nothing else changes."""

import ctypes
import errno
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest

from test_delay import WARNED
from test_sampler import CALLS_OF_THREE_PARTS, SPIN, THREE_PARTS, Sampled, close_to

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "cli"))
import sandbox  # noqa: E402

PR_CAPBSET_DROP, CAP_SYS_PTRACE = 24, 19

pytestmark = pytest.mark.skipif(not sandbox.supported(), reason="no system call numbers")


def no_ptrace():
    """Root may read every process; without this capability only those that are dumpable."""
    if not os.geteuid() and ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE, 0, 0, 0):
        raise OSError("prctl")


def refused_and_no_ptrace():
    no_ptrace()
    sandbox.refuse("process_vm_readv")()


UNDUMPABLE = """
import ctypes
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
"""

# How it is refused: what is done before the recorder starts, how the program begins, how it is
# recorded (a program that is refused later on hears of it at its next event).
REFUSALS = {
    "filter": (sandbox.refuse("process_vm_readv"), "", "sample"),
    "no such call": (sandbox.refuse("process_vm_readv", error=errno.ENOSYS), "", "sample"),
    "old kernel": (sandbox.refuse("process_vm_readv", "close_range"), "", "sample"),
    "not dumpable": (no_ptrace, UNDUMPABLE, "auto"),
    "filter, not dumpable": (refused_and_no_ptrace, UNDUMPABLE, "sample"),
} if sandbox.supported() else {}


class Refused(Sampled):
    def __init__(self, work, done):
        super().__init__(work / "t.isc")
        self.done = done
        with open(str(work / "r.json")) as file:
            self.trust = json.load(file)["trust"]

    def note(self):
        note, = [note for note in self.trust["notes"] if "sampled from inside" in note]
        return note


@pytest.fixture
def refuse(inferscope, write, work):
    """Records a program that the recorder may not read."""
    def run(python, text, *args, how="filter", status=0, options=(), **more):
        before, begin, mode = REFUSALS[how]
        path = write(begin + text)
        done = inferscope("run", "--quiet", "--python", python, "--report", "r.json", "--trace",
                          "t.isc", *options, path, *args, env={"INFERSCOPE_CPU": mode},
                          preexec_fn=before, **more)
        assert (done.returncode, done.stderr) == (status, ""), done.stderr
        refused = Refused(work, done)
        assert refused.trace.whole
        return refused
    return run


@pytest.mark.measures
@pytest.mark.parametrize("how", REFUSALS)
def test_shares_are_those_of_the_time(python, refuse, how):
    seen = refuse(python, THREE_PARTS, how=how)
    took = json.loads(seen.done.stdout)
    all_looks = seen.looks("main", "spin")
    assert all_looks > 20, seen.stacks
    for name, seconds in took.items():
        share = seconds / sum(took.values())
        looks = seen.looks("main", name, "spin")
        assert close_to(looks, all_looks, share), (name, looks, all_looks, share)
    # One at most: where a frame must be asked for by itself (3.8 to 3.10), it may be gone by then.
    assert seen.impossible(CALLS_OF_THREE_PARTS) * sum(seen.stacks.values()) < 1.5, \
        [names for _, names in seen.stacks if "main" in names]
    assert seen.note().startswith("1 process sampled from inside")
    assert "does not let the recorder read" in seen.note()
    assert 5 < seen.trust["sample_hz"] < 260


NOBODY = 65534


@pytest.fixture
def nobody():
    """Somebody who owns nothing but a folder: (the folder, what becomes them)."""
    if os.geteuid():
        pytest.skip("only root can become somebody else")
    folder = tempfile.mkdtemp(prefix="inferscope-")
    os.chmod(folder, 0o777)

    def become():
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)

    yield pathlib.Path(folder), become
    shutil.rmtree(folder)


@pytest.mark.parametrize("filtered", [False, True])
def test_a_user_whose_program_is_not_dumpable(inferscope, binary, nobody, filtered):
    """To the kernel the files of such a process in /proc are root's."""
    folder, become = nobody
    python = "/usr/bin/python3"
    for path in python, binary:
        if subprocess.run(["test", "-x", path], preexec_fn=become).returncode:
            pytest.skip("nobody may not run " + path)

    def before():
        become()
        if filtered:
            sandbox.refuse("process_vm_readv")()
    (folder / "program.py").write_text(UNDUMPABLE + SPIN + """
def busy(): spin(0.01)
for _ in range(50): timed(busy)
""")
    done = inferscope("run", "--quiet", "--cpu", "sample" if filtered else "auto", "--python",
                      python, "--report", "r.json", "--trace", "t.isc", "program.py",
                      cwd=str(folder), env={"HOME": str(folder)}, preexec_fn=before)
    assert (done.returncode, done.stderr) == (0, "")
    seen = Refused(folder, done)
    assert seen.looks("busy", "spin") > 0, seen.stacks
    assert "does not let the recorder read" in seen.note()
    # One note each for what else such a process does not tell.
    hidden = [note for note in seen.trust["notes"] if "does not show the system calls" in note]
    assert len(hidden) == 1


WHAT_IS_SEEN = """
import os, sys, threading, time, warnings
warnings.simplefilter("error")

def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass

def files():
    return [fd for fd in os.listdir("/proc/self/fd") if int(fd) < 500]
"""


@pytest.mark.parametrize("how", REFUSALS)
def test_the_program_does_not_notice(python, refuse, plain, write, how):
    text = WHAT_IS_SEEN + """
spin(0.2)
sys.stdin.read(1)
print(threading.active_count(), len(files()), sys.argv[1:])
sys.exit(7)
"""
    seen = refuse(python, text, "x", "--y", how=how, status=7)
    alone = plain(python, write(text), "x", "--y")
    assert (seen.done.stdout, 7) == (alone.stdout, alone.returncode)


def test_forks_tell_nothing(python, refuse):
    """From 3.12 on Python warns of a fork with several threads, and ours is none of its."""
    seen = refuse(python, WHAT_IS_SEEN + WARNED + """
def parent(): spin(0.3)
def child(): spin(0.3)
def grandchild(): spin(0.3)

if os.fork() == 0:
    child()
    if os.fork() == 0:
        grandchild()
        os._exit(3)
    os._exit(os.waitstatus_to_exitcode(os.wait()[1]) if hasattr(os, "waitstatus_to_exitcode")
             else os.WEXITSTATUS(os.wait()[1]))
parent()
assert os.WEXITSTATUS(os.wait()[1]) == 3
for _ in range(30):
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    assert os.waitpid(pid, 0) == (pid, 0)
parent()
""")
    for name in "parent", "child", "grandchild":
        assert seen.looks(name, "spin") > 0, (name, seen.stacks)
    assert seen.note().split()[1] == "processes"


def test_another_program_takes_over(python, refuse, write):
    other = write(WHAT_IS_SEEN + """
def after(): spin(0.4)
after()
print("after")
""", "other.py")
    seen = refuse(python, WHAT_IS_SEEN + """
def before(): spin(0.4)
before()
os.execv(sys.executable, [sys.executable, sys.argv[1]])
""", other)
    assert seen.done.stdout == "after\n"
    for name in "before", "after":
        assert seen.looks(name, "spin") > 0, (name, seen.stacks)


def test_what_was_seen_before_a_kill(python, refuse):
    seen = refuse(python, WHAT_IS_SEEN + """
import signal
def busy(): spin(0.4)
busy()
os.kill(os.getpid(), signal.SIGKILL)
""", status=128 + 9)
    assert seen.looks("busy", "spin") > 0, seen.stacks


def test_a_stopped_process_is_waited_for_by_nobody(python, refuse):
    """Another one is looked at meanwhile; and then the first again."""
    seen = refuse(python, WHAT_IS_SEEN + """
import signal
def first(): spin(0.3)
def second(): spin(0.5)
def third(): spin(0.3)
pid = os.fork()
if pid == 0:
    first()
    os.kill(os.getpid(), signal.SIGSTOP)
    third()
    os._exit(0)
os.waitpid(pid, os.WUNTRACED)
second()
os.kill(pid, signal.SIGCONT)
assert os.waitpid(pid, 0) == (pid, 0)
""")
    for name in "first", "second", "third":
        assert seen.looks(name, "spin") > 0, (name, seen.stacks)


@pytest.mark.measures
def test_threads_and_what_they_wait_for(python, refuse):
    seen = refuse(python, WHAT_IS_SEEN + """
def waits(event): event.wait()
def works(): spin(0.6)
event = threading.Event()
threads = [threading.Thread(target=waits, args=(event,), daemon=True) for _ in range(8)]
threads.append(threading.Thread(target=works))
for thread in threads: thread.start()
threads[-1].join()
""")
    # Eight of them wait to the very end, and the interpreter ends all the same.
    works = seen.looks("works", "spin")
    waits = [seen.looks("waits", thread=thread) for thread in {thread for thread, _ in seen.stacks}]
    assert works > 4, seen.stacks
    assert len([looks for looks in waits if looks >= 0.9 * works]) == 8, seen.stacks


def test_programs_that_end_at_once(python, refuse):
    """The end never waits for the thread, whatever it is doing."""
    seen = refuse(python, """
import os, subprocess, sys
for _ in range(20):
    assert subprocess.call([sys.executable, "-c", "pass"]) == 0
    assert subprocess.call([sys.executable, "-c", "import os; os._exit(5)"]) == 5
print("ended")
""")
    assert seen.done.stdout == "ended\n"


def test_the_thread_leaves_with_the_recording(python, plain, write):
    """stop(), and another start(); here the recorder is none of our parents."""
    done = plain(python, write(WHAT_IS_SEEN + """
import inferscope
def settle(count):
    end = time.time() + 100
    while len(os.listdir("/proc/self/task")) != count and time.time() < end:
        time.sleep(0.01)
    return len(os.listdir("/proc/self/task"))
for turn in range(3):
    inferscope.start(report="r%d.json" % turn, trace="t%d.isc" % turn, cpu="sample")
    assert settle(2) == 2
    spin(0.3)
    inferscope.stop()
    assert settle(1) == 1
    spin(0.01)
print("left")
"""), preexec_fn=sandbox.refuse("process_vm_readv"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "left\n", "")


def test_the_thread_leaves_after_the_duration(python, refuse):
    seen = refuse(python, WHAT_IS_SEEN + """
def counted(): return len(os.listdir("/proc/self/task"))
until = time.time() + 100
while counted() != 2 and time.time() < until:
    spin(0.01)
assert counted() == 2
end = time.time() + 100
while counted() != 1 and time.time() < end:
    time.sleep(0.02)
print(counted())
""", options=["--duration", "3"])
    assert seen.done.stdout == "1\n"


def test_a_killed_recorder_is_not_missed(python, binary, clean_env, write, work):
    program = write(WHAT_IS_SEEN + """
print(os.getpid(), flush=True)
sys.stdin.readline()
spin(0.1)
pid = os.fork()
if pid == 0:
    os._exit(0)
os.waitpid(pid, 0)
print("lived", flush=True)
""")
    recorder = subprocess.Popen(
        [binary, "run", "--quiet", "--cpu", "sample", "--python", python, str(program)],
        cwd=str(work), env=clean_env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        universal_newlines=True, preexec_fn=sandbox.refuse("process_vm_readv"))
    pid = recorder.stdout.readline().strip()
    end = time.monotonic() + 100
    while len(os.listdir("/proc/%s/task" % pid)) < 2:  # the thread that reads for it
        assert time.monotonic() < end
        time.sleep(0.01)
    recorder.send_signal(signal.SIGKILL)
    recorder.wait()
    recorder.stdin.write("go\n")
    recorder.stdin.close()
    assert recorder.stdout.read() == "lived\n"  # until the workload has closed it
    recorder.stdout.close()


def test_more_processes_than_windows(pythons, refuse):
    seen = refuse(pythons[-1], WHAT_IS_SEEN + """
out, into = os.pipe()
pids = []
for _ in range(36):
    pid = os.fork()
    if pid == 0:
        os.close(into)
        os.read(out, 1)
        os._exit(0)
    pids.append(pid)
time.sleep(1)
os.close(into)
for pid in pids:
    assert os.waitpid(pid, 0) == (pid, 0)
""")
    notes = seen.trust["notes"]
    assert 32 <= int(seen.note().split()[0]) <= 37, notes
    # The others had none, or got one only when the first ended.
    assert "after it was refused" in seen.note() or any("not sampled" in note for note in notes)


def test_where_the_kernel_permits_there_is_no_thread(pythons, inferscope, write, work):
    path = write(WHAT_IS_SEEN + """
spin(0.3)
assert len(os.listdir("/proc/self/task")) == 1
""")
    done = inferscope("run", "--quiet", "--python", pythons[-1], "--cpu", "sample", "--report",
                      "r.json", path)
    assert (done.returncode, done.stderr) == (0, "")
    with open(str(work / "r.json")) as file:
        assert not any("inside" in note for note in json.load(file)["trust"]["notes"])
