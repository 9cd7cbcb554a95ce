"""What other users and a hostile workload can do to a recording: nothing.

Two further users are needed, and root to be them for a moment: seen to be skipped elsewhere.
"""

import os
import shutil
import stat
import subprocess
import sys

import pytest

VICTIM, ATTACKER = 54321, 54322  # numbers without a name are users all the same

as_root = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"),
                             reason="only root can be two other users")


def be(uid):
    return ["setpriv", "--reuid=%d" % uid, "--regid=%d" % uid, "--clear-groups"]


@pytest.fixture
def spot(tmp_path_factory, let_all_in):
    """A folder like /tmp: everyone may write, nobody may remove what is another's."""
    path = tmp_path_factory.mktemp("spot")
    let_all_in(path)
    path.chmod(0o1777)
    return path


@pytest.fixture(scope="session")
def public_binary(binary, tmp_path_factory, let_all_in):
    """The program where every user can reach it."""
    target = tmp_path_factory.mktemp("stage")
    let_all_in(target)
    shutil.copytree(os.path.dirname(os.path.dirname(binary)), str(target / "stage"))
    return str(target / "stage" / "bin" / "inferscope")


@pytest.fixture
def as_victim(public_binary, spot):
    """Runs the program as the victim, in `spot`."""
    def run(*args, **more):
        env = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}
        env.update(more.pop("env", {}))
        return subprocess.run(be(VICTIM) + [public_binary] + list(args), cwd=str(spot), env=env,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, timeout=60, **more)
    return run


SYSTEM_PYTHON = "/usr/bin/python3"


def mode(path):
    return stat.S_IMODE(os.stat(str(path)).st_mode)


def test_what_is_left_is_its_owners_alone(inferscope, work):
    old = os.umask(0)
    try:
        done = inferscope("run", "--report", "r.md", "--report", "r.json", "--trace", "t.isc",
                          "--", sys.executable, "-c", "pass")
        assert done.returncode == 0
        assert inferscope("export", "t.isc", "-o", "e.json").returncode == 0
    finally:
        os.umask(old)
    assert [mode(work / name) for name in ("r.md", "r.json", "t.isc", "e.json")] == [0o600] * 4
    assert sorted(os.listdir(str(work))) == ["e.json", "r.json", "r.md", "t.isc"]


def test_a_report_that_was_opened_to_others_stays_so(inferscope, work):
    (work / "r.md").write_text("old")
    (work / "r.md").chmod(0o644)
    inferscope("run", "--report", "r.md", "--", sys.executable, "-c", "pass")
    assert mode(work / "r.md") == 0o644


TRAPS = {
    "link": lambda path, prey: os.symlink(str(prey), str(path)),
    "dangling link": lambda path, prey: os.symlink(str(prey) + ".new", str(path)),
    "file": lambda path, prey: path.write_text(""),
    "pipe": lambda path, prey: os.mkfifo(str(path)),
}


@as_root
@pytest.mark.parametrize("trap", sorted(TRAPS))
@pytest.mark.parametrize("name", ["inferscope-trace.isc", "inferscope-report.md"])
def test_what_another_user_put_in_the_way_is_refused(as_victim, spot, trap, name):
    prey = spot / "precious"
    prey.write_text("mine")
    os.chown(str(prey), VICTIM, VICTIM)
    TRAPS[trap](spot / name, prey)
    os.chown(str(spot / name), ATTACKER, ATTACKER, follow_symlinks=False)
    if "link" not in trap:
        (spot / name).chmod(0o666)
    done = as_victim("run", "--", SYSTEM_PYTHON, "-c", "print('ran')")
    assert (done.returncode, done.stdout) == (2, "")
    why = {"pipe": "not a regular file", "file": "the file belongs to another user; remove it or "
           "choose another name"}
    assert done.stderr == "inferscope: cannot write '%s': %s\n" % (name, why.get(
        trap, "it is a link; give the name of the file that it leads to"))
    assert prey.read_text() == "mine" and not os.path.exists(str(prey) + ".new")


@as_root
def test_an_export_goes_into_no_trap(as_victim, spot):
    assert as_victim("run", "--", SYSTEM_PYTHON, "-c", "pass").returncode == 0
    (spot / "e.json").write_text("")
    os.chown(str(spot / "e.json"), ATTACKER, ATTACKER)
    done = as_victim("export", "inferscope-trace.isc", "-o", "e.json")
    assert done.returncode == 1 and "belongs to another user" in done.stderr
    assert (spot / "e.json").read_text() == ""


PEEK = r"""
import os, sys
recorder = sys.argv[1]
opened = []
for fd in range(64):
    try:
        os.close(os.open("/proc/%s/fd/%d" % (recorder, fd), os.O_RDONLY))
        opened.append(fd)
    except OSError:
        pass
print(opened)
"""

WAIT = "import os, sys; print(os.environ['INFERSCOPE_SESSION'], flush=True); sys.stdin.read()"


@as_root
def test_another_user_opens_nothing_of_the_recorder(public_binary, spot):
    command = [public_binary, "run", "--quiet", "--", SYSTEM_PYTHON, "-c", WAIT]
    with subprocess.Popen(be(VICTIM) + command, cwd=str(spot), stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, universal_newlines=True) as running:
        recorder, memory, notes, _ = running.stdout.readline().split(".")

        def peek(uid):
            return subprocess.run(be(uid) + [SYSTEM_PYTHON, "-c", PEEK, recorder],
                                  stdout=subprocess.PIPE, universal_newlines=True).stdout
        theirs, ours = peek(ATTACKER), peek(VICTIM)
        modes = [mode("/proc/%s/fd/%s" % (recorder, fd)) for fd in (memory, notes)]
        running.stdin.close()
    assert running.returncode == 0
    assert theirs == "[]\n" and int(memory) in eval(ours)
    assert modes == [0o600, 0o600]


def test_the_workload_inherits_no_file(inferscope):
    show = ("import os\n"
            "print([fd for fd in range(3, 64) if os.path.exists('/proc/self/fd/%d' % fd)])")
    done = inferscope("run", "--quiet", "--", sys.executable, "-c", show)
    assert done.stdout == "[]\n"


CUT = r"""
import os
pid, memory, notes, _ = os.environ["INFERSCOPE_SESSION"].split(".")
fd = os.open("/proc/%s/fd/%s" % (pid, memory), os.O_RDWR)
for size in (0, 4096, 1 << 40):
    try:
        os.ftruncate(fd, size)
        print("cut")
    except PermissionError:
        print("refused")
def work(): pass
for i in range(1000): work()
"""


def test_a_workload_cannot_cut_the_memory_under_the_recorder(inferscope):
    # Every call, for within a budget a busy machine may have time for none.
    done = inferscope("run", "--cpu", "trace", "--", sys.executable, "-c", CUT)
    assert (done.returncode, done.stdout) == (0, "refused\n" * 3)
    assert "work" in done.stderr


REPLACE = r"""
import os, sys
def work(): pass
for i in range(1000): work()
os.unlink("t.isc")
if sys.argv[1] == "pipe": os.mkfifo("t.isc")
elif sys.argv[1] == "file": open("t.isc", "w").write("not a trace")
elif sys.argv[1] == "link": os.symlink("/dev/zero", "t.isc")
"""


@pytest.mark.parametrize("what", ["pipe", "file", "link", "nothing"])
def test_a_workload_that_replaces_the_trace_gets_its_report(inferscope, what):
    done = inferscope("run", "--trace", "t.isc", "--", sys.executable, "-c", REPLACE, what)
    assert done.returncode == 0
    assert "work" in done.stderr


SHOW = "import os, inferscope; print(os.geteuid(), inferscope.is_recording())"


@as_root
def test_a_setuid_program_does_not_join(as_victim, spot, public_binary):
    python = spot.parent / "setuid-python3"
    shutil.copy(os.path.realpath(SYSTEM_PYTHON), str(python))
    python.chmod(0o4755)
    done = as_victim("run", "--quiet", "--", str(python), "-c", SHOW)
    python.unlink()
    if done.stdout.startswith(str(VICTIM)):
        pytest.skip("the file system of the tests has no setuid programs")
    assert (done.returncode, done.stdout) == (0, "0 False\n")


@as_root
def test_root_does_not_join_another_users_memory(public_binary, spot):
    package = os.path.join(os.path.dirname(os.path.dirname(public_binary)),
                           "lib/inferscope/python")
    join = ("import os, sys; from inferscope import _agent;"
            "print(bool(_agent.attach(os.environ['INFERSCOPE_SESSION'])))")
    command = [public_binary, "run", "--quiet", "--", SYSTEM_PYTHON, "-c", WAIT]
    with subprocess.Popen(be(VICTIM) + command, cwd=str(spot), stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, universal_newlines=True) as running:
        env = {"INFERSCOPE_SESSION": running.stdout.readline().strip(), "PYTHONPATH": package,
               "PATH": "/usr/bin:/bin"}
        answers = [subprocess.run(who + [SYSTEM_PYTHON, "-c", join], env=env,
                                  stdout=subprocess.PIPE, universal_newlines=True).stdout
                   for who in ([], be(VICTIM))]
        running.stdin.close()
    assert answers == ["False\n", "True\n"]


NAMES = r"""
import inferscope, os, threading
nasty = "\x1b[2J\x1b]0;pwned\x07\u009b31m\u202e\r\n|`<script>"
space = {}
exec(compile("def work(): pass", nasty, "exec"), space)
space["work"].__code__ = space["work"].__code__.replace(co_name=nasty)
def all_of_it():
    for i in range(50):
        with inferscope.scope(nasty, **{nasty: nasty}):
            space["work"]()
    inferscope.mark_event(nasty, key=nasty)
t = threading.Thread(target=all_of_it, name=nasty)
t.start(); t.join()
pid, _, notes, _ = os.environ["INFERSCOPE_SESSION"].split(".")
with open("/proc/%s/fd/%s" % (pid, notes), "a") as out:
    out.write("1 %s\n" % nasty.replace("\n", ""))
"""


def test_names_of_the_workload_cannot_steer_a_terminal(inferscope, work):
    done = inferscope("run", "--report", "r.md", "--", sys.executable, "-c", NAMES, text=False,
                      env={"PYTHONUTF8": "1"})
    assert done.returncode == 0
    for text in (done.stderr.decode(), (work / "r.md").read_text(encoding="utf-8")):
        assert "pwned" in text
        assert not set(text) & (set(map(chr, range(32))) - {"\n"})
        assert not set(text) & (set(map(chr, range(0x7f, 0xa0))) | {"\u202e", "\u2028"})


FLOOD = r"""
import ctypes, mmap, os, struct, time
pid, memory, notes, _ = os.environ["INFERSCOPE_SESSION"].split(".")
fd = os.open("/proc/%s/fd/%s" % (pid, memory), os.O_RDWR)
m = mmap.mmap(fd, os.fstat(fd).st_size)
processes, threads = struct.unpack_from("<QQ", m, 64)
PROCESS = 768
assert threads == processes + 1024 * PROCESS
def rss():
    with open("/proc/%s/statm" % pid) as f:
        return int(f.read().split()[1]) * 4096
struct.pack_into("<II", m, processes + PROCESS, 2, os.getpid())
for number in range(120):
    for i in range(1, 4096):
        # A thread that lives, and has ended by the next look.
        struct.pack_into("<II", m, threads + 128 * i, 3, 1)
    for i in range(2, 1024):
        struct.pack_into("<II", m, processes + PROCESS * i, 2, 1 << 22)
    with open("/proc/%s/fd/%s" % (pid, notes), "a") as out:
        out.write("1 no\n" * 2000)
    if number == 40:
        before = rss()
    time.sleep(0.02)
print(rss() - before)
"""


def test_a_flood_of_threads_and_processes_stays_within_bounds(inferscope, work):
    done = inferscope("run", "--quiet", "--trace", "t.isc", "--report", "r.json", "--",
                      sys.executable, "-c", FLOOD)
    assert done.returncode == 0
    assert int(done.stdout) < 64 << 20
    assert os.path.getsize(str(work / "t.isc")) < 512 << 20


def test_a_recorder_that_is_gone_harms_nobody(binary, clean_env, work):
    """Its number may be another process's by now: that one's files are left alone."""
    shim = os.path.join(os.path.dirname(os.path.dirname(binary)), "lib/inferscope/shim")
    # An agent that cannot be loaded: that is when the shim has something to say.
    (work / "inferscope").mkdir()
    (work / "inferscope" / "__init__.py").write_text("raise ImportError('broken')")
    with open(str(work / "log"), "a") as log:
        bystander = subprocess.Popen(["sleep", "60"], stdout=log)
    done = subprocess.run([sys.executable, "-c", "pass"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env={
                              **clean_env, "PYTHONPATH": "%s:%s" % (shim, work),
                              "INFERSCOPE_SESSION": "%d.1.1.0" % bystander.pid})
    bystander.terminate()
    bystander.wait()
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (work / "log").read_text() == ""
