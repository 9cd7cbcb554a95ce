"""Ways to make, change, leave and lose a process: each is in the trace with its own events."""

import json
import os
import pty
import select
import signal
import subprocess
import time

import pytest

needs_root = pytest.mark.skipif(os.getuid() != 0, reason="needs root")


@pytest.fixture
def newest(pythons):
    return pythons[-1]


def calls_by_pid(recording, name):
    found = {}
    for event in recording.calls(name):
        found[event["pid"]] = found.get(event["pid"], 0) + 1
    return found


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing_with_queues_and_terminate(newest, record, method):
    recording = record(newest, """
        import multiprocessing, sys, time
        def step(): pass
        def serve(inbox, outbox):
            for item in iter(inbox.get, None):
                step()
                outbox.put(item * 2)
        def hang(outbox):
            for _ in range(10): step()
            outbox.put("hangs")
            time.sleep(60)
        if __name__ == "__main__":
            context = multiprocessing.get_context(sys.argv[1])
            inbox, outbox = context.Queue(), context.Queue()
            server = context.Process(target=serve, args=(inbox, outbox))
            server.start()
            for i in range(20): inbox.put(i)
            inbox.put(None)
            total = sum(outbox.get() for _ in range(20))
            hanging = context.Process(target=hang, args=(outbox,))
            hanging.start()
            assert outbox.get() == "hangs"
            hanging.terminate()
            for p in (server, hanging): p.join()
            print(total, server.pid, hanging.pid, hanging.exitcode)
    """, method, notes=None)  # the forkserver may end later than the program
    total, server, hanging, code = map(int, recording.done.stdout.split())
    assert (total, code) == (380, -15)
    assert calls_by_pid(recording, "step") == {server: 20, hanging: 10}


def test_a_tree_of_50(newest, record):
    """Each process of a tree of 50 has its own calls and the right parent."""
    recording = record(newest, """
        import os, sys
        def step(): pass
        def node(first, count):
            for _ in range(first): step()
            line = "%d %d %d\\n" % (first, os.getpid(), os.getppid())
            os.write(1, line.encode())
            rest, at, children = count - 1, first + 1, []
            for part in (rest // 2, rest - rest // 2):
                if part:
                    pid = os.fork()
                    if pid == 0:
                        node(at, part)
                        os._exit(0)
                    children.append(pid)
                at += part
            for pid in children: os.waitpid(pid, 0)
        node(1, 50)
    """)
    said = [tuple(map(int, line.split())) for line in recording.done.stdout.splitlines()]
    assert sorted(first for first, _, _ in said) == list(range(1, 51))
    assert calls_by_pid(recording, "step") == {pid: first for first, pid, _ in said}
    parents = {p["pid"]: p["parent_pid"] for p in recording.processes}
    main = recording.processes[0]["pid"]
    assert {pid: parents[pid] for _, pid, _ in said if pid != main} == \
        {pid: parent for _, pid, parent in said if pid != main}
    assert len(recording.processes) == 50


STORM = """
    import os, sys
    def step(): pass
    for i in range(int(sys.argv[1])):
        pid = os.fork()
        if pid == 0:
            step()
            os._exit(0)
        os.waitpid(pid, 0)
    print("done")
"""


def check_storm(recording, children):
    assert recording.done.stdout == "done\n"
    assert len(recording.calls("step")) == children
    assert len(recording.processes) == children + 1


def test_many_short_children(newest, record):
    check_storm(record(newest, STORM, 200), 200)


@pytest.mark.long
def test_a_storm_of_short_children(python, record):
    """More than there are entries for processes at a time (1024)."""
    check_storm(record(python, STORM, 1500, timeout=300), 1500)


def test_fork_from_a_thread(python, record):
    recording = record(python, """
        import os, threading
        def step(): pass
        def work():
            step()
            pid = os.fork()
            for _ in range(5): step()
            if pid == 0: os._exit(0)
            os.waitpid(pid, 0)
            print(pid)
        t = threading.Thread(target=work)
        t.start(); t.join()
    """, stderr=None)  # 3.12 warns of forking with threads
    child = int(recording.done.stdout)
    counts = calls_by_pid(recording, "step")
    assert counts.pop(child) == 5 and list(counts.values()) == [6]


def test_posix_spawn_and_vfork(python, record):
    recording = record(python, """
        import os, subprocess, sys
        def step(): pass
        if len(sys.argv) > 1:
            for _ in range(int(sys.argv[1])): step()
            sys.exit()
        pid = os.posix_spawn(sys.executable, [sys.executable, __file__, "3"], os.environ)
        assert os.waitpid(pid, 0)[1] == 0
        # close_fds=False takes vfork() from 3.10 on
        child = subprocess.Popen([sys.executable, __file__, "4"], close_fds=False)
        assert child.wait() == 0
        print(pid, child.pid)
    """)
    spawned, vforked = map(int, recording.done.stdout.split())
    assert calls_by_pid(recording, "step") == {spawned: 3, vforked: 4}
    assert len(recording.processes) == 3


def test_one_program_after_another_in_one_process(newest, record):
    """exec: the same pid, each time a process of its own in the trace."""
    recording = record(newest, """
        import os, sys
        def step(): pass
        left = int(sys.argv[1])
        for _ in range(left): step()
        if left > 1:
            os.execv(sys.executable, [sys.executable, __file__, str(left - 1)])
        print(os.getpid())
    """, 4)
    pid = int(recording.done.stdout)
    assert [p["pid"] for p in recording.processes] == [pid] * 4
    assert calls_by_pid(recording, "step") == {pid: 10}
    by_process = {}
    of_thread = {t["id"]: t["process"] for t in recording.threads}
    for event in recording.calls("step"):
        process = of_thread[event["thread"]]
        by_process[process] = by_process.get(process, 0) + 1
    assert list(by_process.values()) == [4, 3, 2, 1]


def test_a_daemon_is_waited_for_on_demand(newest, inferscope, write, read_trace):
    """Twice forked, in a session of its own, without any open file of ours."""
    write("""
        import os, time
        def step(): pass
        if os.fork() == 0:
            os.setsid()
            if os.fork():
                os._exit(0)
            os.chdir("/")
            os.closerange(0, 65536)
            time.sleep(0.3)
            for _ in range(25): step()
            os._exit(0)
    """)
    done = inferscope("run", "--quiet", "--wait-children", "--python", newest, "--trace", "t.isc",
                      "program.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    recording = read_trace("t.isc")
    assert recording.head["notes"] == []
    assert sum(calls_by_pid(recording, "step").values()) == 25
    assert len(recording.processes) == 2, "the one in between did nothing of its own"


@pytest.mark.parametrize("death", ["os._exit(3)", "os.kill(os.getpid(), 11)", "os.abort()",
                                   "os.kill(os.getpid(), 15)", "os.kill(os.getpid(), 9)",
                                   "ctypes.string_at(0)"])
def test_a_child_that_dies_leaves_its_events(newest, record, death):
    recording = record(newest, """
        import ctypes, os, resource
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        def step(): pass
        pid = os.fork()
        if pid == 0:
            for _ in range(1000): step()
            %s
        assert os.waitpid(pid, 0)[1]
        print(pid)
    """ % death)
    assert calls_by_pid(recording, "step") == {int(recording.done.stdout): 1000}


def test_all_descriptors_closed(python, record):
    recording = record(python, """
        import os, subprocess, sys
        def step(): pass
        os.closerange(3, 65536)
        for _ in range(10): step()
        pid = os.fork()
        for _ in range(10): step()
        if pid == 0: os._exit(0)
        os.waitpid(pid, 0)
        subprocess.check_call([sys.executable, "-c", "def one(): pass\\none()"], close_fds=True)
    """)
    assert sorted(calls_by_pid(recording, "step").values()) == [10, 20]
    assert len(recording.of("cpu_function", "one")) == 1


@needs_root
def test_chroot_and_another_user(newest, record, work):
    """Who has joined stays, wherever it goes and whoever it becomes."""
    (work / "jail").mkdir()
    recording = record(newest, """
        import os
        def step(): pass
        pid = os.fork()
        if pid == 0:
            os.chroot("jail")
            os.chdir("/")
            os.setgid(65533)
            os.setuid(65533)
            for _ in range(10): step()
            inner = os.fork()
            for _ in range(10): step()
            if inner: os.waitpid(inner, 0)
            os._exit(0)
        os.waitpid(pid, 0)
    """)
    assert sorted(calls_by_pid(recording, "step").values()) == [10, 20]


def namespaces():
    done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--mount-proc", "true"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        pytest.skip("no namespaces: %s" % done.stdout.decode().strip())


def run_in_namespaces(binary, env, folder, shell, *args, trace="t.isc", report="r.json"):
    """`shell` runs first, as root of its own mounts and pids."""
    return subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c",
         shell + ' && exec "$@"', "sh", binary, "run", "--quiet", "--trace", str(trace),
         "--report", str(report), *args],
        cwd=str(folder), env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, universal_newlines=True, timeout=240)


@needs_root
def test_a_pid_that_comes_again(binary, newest, clean_env, work, write, read_trace):
    namespaces()
    write("""
        import os
        def first(): pass
        def second(): pass
        def child(function, count):
            pid = os.fork()
            if pid == 0:
                for _ in range(count): function()
                os._exit(0)
            os.waitpid(pid, 0)
            return pid
        pid = child(first, 3)
        with open("/proc/sys/kernel/ns_last_pid", "w") as file:
            file.write(str(pid - 1))
        print(pid == child(second, 4))
    """)
    done = run_in_namespaces(binary, clean_env, work, "true", "--python", newest, "program.py")
    assert (done.returncode, done.stderr) == (0, "")
    if done.stdout != "True\n":
        pytest.skip("the kernel does not let us choose pids")
    recording = read_trace("t.isc")
    of_thread = {t["id"]: t["process"] for t in recording.threads}
    calls = [recording.calls(name) for name in ("first", "second")]
    owners = [{of_thread[event["thread"]] for event in events} for events in calls]
    assert [len(events) for events in calls] == [3, 4]
    assert len(owners[0]) == len(owners[1]) == 1 and owners[0] != owners[1]
    assert len(recording.processes) == 3


PLENTY = """
    def step(): pass
    for _ in range(20000): step()
    print("done")
"""


@needs_root
@pytest.mark.parametrize("mounts", [
    "mount -t tmpfs -o size=64m tmpfs /dev/shm",
    "mount -t tmpfs -o ro tmpfs /dev/shm",
    "umount /dev/shm || true",
    "mount -t tmpfs -o ro tmpfs $HOME",
], ids=["64 MB of /dev/shm", "read-only /dev/shm", "no /dev/shm", "read-only home"])
def test_mounts_that_others_need(binary, newest, clean_env, work, write, read_trace, mounts):
    """The buffer is not in /dev/shm, and nothing is written anywhere but where it was asked for."""
    namespaces()
    write(PLENTY)
    done = run_in_namespaces(binary, clean_env, work, mounts, "--python", newest, "program.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    recording = read_trace("t.isc")
    assert recording.head["notes"] == []
    assert len(recording.calls("step")) == 20000


@needs_root
def test_a_read_only_working_directory(binary, newest, clean_env, work, write):
    """Said before the workload runs; with other places for the output all is well."""
    namespaces()
    write("def step(): pass\nstep()\nprint('ran')")
    shell = 'mount --bind . . && mount -o remount,ro,bind . && cd "$PWD"'
    done = run_in_namespaces(binary, clean_env, work, shell, "--python", newest, "program.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "inferscope: cannot write 'r.json': Read-only file system\n"
    out = work.parent / "out"
    out.mkdir()
    done = run_in_namespaces(binary, clean_env, work, shell, "--python", newest, "program.py",
                             trace=out / "t.isc", report=out / "r.json")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ran\n", "")
    assert json.loads((out / "r.json").read_text())["trust"]["events"] > 0


class Terminal:
    """A shell with job control on a terminal of its own."""

    def __init__(self, env, folder):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            for number in signal.SIGINT, signal.SIGPIPE, signal.SIGTSTP:  # not as pytest has them
                signal.signal(number, signal.SIG_DFL)
            os.chdir(str(folder))
            os.execve("/bin/bash", ["bash", "--norc", "--noprofile", "-i"],
                      {**env, "PS1": "$ ", "TERM": "dumb", "HISTFILE": ""})
        self.shown = ""

    def type(self, text):
        os.write(self.fd, text.encode())

    def wait_for(self, text, seconds=120):
        """Reads up to the text; what came before it."""
        end = time.monotonic() + seconds
        while text not in self.shown:
            assert time.monotonic() < end, (text, self.shown)
            if select.select([self.fd], [], [], 0.1)[0]:
                self.shown += os.read(self.fd, 4096).decode()
        before, self.shown = self.shown.split(text, 1)
        return before

    def close(self):
        """As when its window is closed: whatever still runs there is told to hang up."""
        os.close(self.fd)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


@pytest.fixture
def terminal(clean_env, work):
    shell = Terminal(clean_env, work)
    yield shell
    shell.close()


def wait_until(pid, state):
    end = time.monotonic() + 120
    while True:
        with open("/proc/%d/stat" % pid) as file:
            if file.read().rpartition(") ")[2][0] == state:
                return
        assert time.monotonic() < end
        time.sleep(0.01)


def test_job_control(terminal, binary, newest, write, read_trace):
    """^Z stops workload and recorder, fg goes on, ^C arrives once."""
    write("""
        import os, sys
        def step(): pass
        caught = 0
        print("pid=%d." % os.getpid())
        while True:
            try:
                print("re" + "ady", flush=True)
                line = sys.stdin.readline()
            except KeyboardInterrupt:
                caught += 1
                print("inter" + "rupted", flush=True)
                continue
            for _ in range(10): step()
            if line == "end\\n":
                print("caught=%d." % caught)
                sys.exit(7)
    """)
    terminal.wait_for("$ ")
    terminal.type("%s run --quiet --trace t.isc --python %s program.py\n"
                  % (binary, newest))
    pid = int(terminal.wait_for("ready").rpartition("pid=")[2].partition(".")[0])
    terminal.type("\x1a")
    terminal.wait_for("Stopped")
    terminal.wait_for("$ ")
    wait_until(pid, "T")  # until then its read() may still take what is typed for the shell
    terminal.type("echo in''between; fg\n")
    terminal.wait_for("inbetween")
    terminal.wait_for("run --quiet")
    terminal.type("more\n")
    terminal.wait_for("ready")
    wait_until(pid, "S")  # Python on its way to read() takes note of a signal when that is done
    terminal.type("\x03")
    terminal.wait_for("interrupted")
    terminal.wait_for("ready")
    terminal.type("end\n")
    terminal.wait_for("caught=1.")
    terminal.wait_for("$ ")
    terminal.type("echo status=$?.\n")
    terminal.wait_for("status=7.")
    recording = read_trace("t.isc")
    assert recording.head["exit_status"] == 7
    assert len(recording.calls("step")) == 20
