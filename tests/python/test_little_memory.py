"""Memory is scarce, or limits are narrow: the workload ends as if alone, and the report says so."""

import contextlib
import json
import os
import resource
import sys

import pytest

MB = 1 << 20

# Makes many calls (2.2 million fill a ring of 64 MB), then fills memory and calls meanwhile.
HUNGRY = """
    import sys, time
    from inferscope import mark_event
    def step(): pass
    for _ in range(int(sys.argv[3])): step()
    held = []
    for i in range(int(sys.argv[1])):
        held.append(b"x" * (1 << 20))
        for _ in range(200): step()
        time.sleep(0.01)
        mark_event("held", mb=i)
    time.sleep(0.6)
    for _ in range(20000): step()
    held.clear()
    time.sleep(float(sys.argv[2]))
    for _ in range(1000): step()
    print("done")
"""


class Group:
    """A control group for memory, of either version."""

    def __init__(self, limit):
        old = os.path.isfile("/sys/fs/cgroup/memory/memory.limit_in_bytes")
        parent = "/sys/fs/cgroup/memory" if old else "/sys/fs/cgroup"
        self.path = "%s/inferscope-test-%d" % (parent, os.getpid())
        os.mkdir(self.path)
        self.write("memory.limit_in_bytes" if old else "memory.max", limit)

    def write(self, name, value):
        with open(os.path.join(self.path, name), "w") as file:
            file.write("%d\n" % value)

    def enter(self):
        self.write("cgroup.procs", os.getpid())


@pytest.fixture
def group():
    with contextlib.ExitStack() as stack:
        def make(limit):
            try:
                made = Group(limit)
            except OSError as error:
                pytest.skip("cannot make a control group for memory: %s" % error)
            stack.callback(os.rmdir, made.path)
            return made
        yield make


def trust_notes(work):
    return json.loads((work / "r.json").read_text())["trust"]["notes"]


def run(inferscope, write, read_trace, text, *args, options=(), **more):
    done = inferscope("run", "--quiet", "--python", sys.executable, "--trace", "t.isc", "--report",
                      "r.json", *options, write(text), *args, **more)
    return done, read_trace("t.isc", done)


@pytest.mark.measures  # the recorder has to see in time that memory gets scarce
@pytest.mark.parametrize("options, calls", [([], 0), (["--ring"], 2200000)])
def test_a_control_group_that_gets_full(inferscope, write, read_trace, work, group, options, calls):
    """Alone the workload fits; so it does with us, and the buffer is there again afterwards."""
    done, recording = run(inferscope, write, read_trace, HUNGRY, 60, 1.2, calls,
                          options=["--trace-size-mb", 64, *options],
                          preexec_fn=group(115 * MB).enter)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    first, last = recording.head["notes"]
    assert first.startswith("memory was scarce (the control group had ")
    assert "the trace buffer was shrunk from 64.0 to " in first
    assert last.endswith(" MB at the end")
    smallest, end = float(last.split()[4]), float(last.split()[-5])
    assert smallest < 20 and end > smallest
    assert {first, last} <= set(trust_notes(work))
    for thread in recording.threads:
        stored = thread["produced"] - thread["lost"]
        assert 0 < stored <= thread["produced"]
    if not options:
        assert len(recording.of("instant", "held")) == 60


def limits(*pairs):
    def set_them():
        for which, soft in pairs:
            hard = resource.getrlimit(which)[1]
            resource.setrlimit(which, (soft, hard))
    return set_them


COUNTS = """
    import os, threading
    def step(): pass
    def work():
        for _ in range(1000): step()
    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads: t.start()
    for t in threads: t.join()
    if hasattr(os, "register_at_fork"):
        pid = os.fork()
        work()
        if pid == 0: os._exit(0)
        os.waitpid(pid, 0)
    print("done")
"""


@pytest.mark.parametrize("which, value, note", [
    (resource.RLIMIT_AS, 600 * MB, "the trace buffer has 75.0 instead of 100 MB because memory or "
                                   "files are limited (ulimit -v)"),
    (resource.RLIMIT_FSIZE, 10 * MB, "the trace buffer has 6.0 instead of 100 MB because memory or "
                                     "files are limited (ulimit -f)"),
    (resource.RLIMIT_NOFILE, 24, None),
    (resource.RLIMIT_MEMLOCK, 0, None),
    (resource.RLIMIT_STACK, 512 << 10, None),
    (resource.RLIMIT_CORE, 0, None),
    (resource.RLIMIT_DATA, 300 * MB, None),
    (resource.RLIMIT_SIGPENDING, 1, None),
    (resource.RLIMIT_RTPRIO, 0, None),
], ids=lambda value: str(value) if isinstance(value, int) else "")
def test_a_narrow_limit(inferscope, write, read_trace, work, which, value, note):
    done, recording = run(inferscope, write, read_trace, COUNTS, preexec_fn=limits((which, value)))
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    assert recording.head["notes"] == ([note] if note else [])
    assert len(recording.calls("step")) == 5000


def test_a_child_that_has_no_room_for_the_buffer(inferscope, write, read_trace):
    """The child runs as if alone, and the report says that it is not in it."""
    done, recording = run(inferscope, write, read_trace, """
        import resource, subprocess, sys
        def step(): pass
        step()
        if len(sys.argv) > 1:
            print("child")
            sys.exit()
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (%d, -1))
        subprocess.check_call([sys.executable, __file__, "child"], preexec_fn=limit)
    """ % (100 * MB))
    assert (done.returncode, done.stdout) == (0, "child\n")
    assert len(recording.calls("step")) == 1
    note, = recording.head["notes"]
    assert note.startswith("process ") and note.endswith(
        ": the agent could not be loaded: no room to map the trace buffer (ulimit -v?)")
    assert done.stderr == "inferscope: %s\n" % note


def test_no_more_processes_than_there_are(inferscope, work):
    """RLIMIT_NPROC, which does not bind root: as another user, the workload cannot be started."""
    if os.getuid():
        pytest.skip("only root can become a user without processes")
    os.chmod(str(work), 0o777)

    def prepare():
        os.setgid(65533)
        os.setuid(65533)
        resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
    done = inferscope("run", "--quiet", "--", "echo", "ran", preexec_fn=prepare)
    assert (done.returncode, done.stdout) == (126, "")
    assert done.stderr == \
        "inferscope: cannot start a process: Resource temporarily unavailable\n"
