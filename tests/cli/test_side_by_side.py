"""Several recordings at once: of two users, in one folder, one inside the other."""

import json
import os
import subprocess
import sys

import pytest

USERS = (64001, 64002)  # a number is all that the kernel asks of a user
DISTRIBUTION_PYTHON = "/usr/bin/python3"  # one that every user may read

# Waits until all have begun, so that the recordings overlap.
TOGETHER = """
import os, sys, time
name, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
exec("def only_of_%s():\\n    pass\\n" % name)
open(os.path.join(folder, "begun-" + name), "w").close()
while sum(entry.startswith("begun-") for entry in os.listdir(folder)) < count:
    time.sleep(0.01)
for _ in range(500):
    globals()["only_of_" + name]()
"""

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become two users")
with_python = pytest.mark.skipif(not os.access(DISTRIBUTION_PYTHON, os.X_OK),
                                 reason="no " + DISTRIBUTION_PYTHON)


def become(uid):
    def switch():
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
    return switch


@pytest.fixture
def begin(binary, clean_env):
    """Starts the program, maybe as another user."""
    def run(*args, cwd, uid=None, env=None):
        return subprocess.Popen([binary] + [str(arg) for arg in args], cwd=str(cwd),
                                env={**clean_env, "HOME": str(cwd), "INFERSCOPE_CPU": "trace",
                                     **(env or {})},
                                preexec_fn=become(uid) if uid else None,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, universal_newlines=True)
    return run


@pytest.fixture
def open_folder(tmp_path, let_all_in):
    """A folder that all may write to, and the way to it."""
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o1777)
    let_all_in(tmp_path)
    (folder / "together.py").write_text(TOGETHER)
    return folder


def ended(process):
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def calls(path):
    report = json.loads(path.read_text())
    return {f["name"]: f["calls"] for f in report["cpu"]["functions"]
            if f["name"].startswith("only_of_")}


def others_can_run(binary):
    """A checkout below a home folder is closed to other users."""
    return subprocess.run([binary, "--version"], preexec_fn=become(USERS[0]), cwd="/",
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def runnable(binary):
    try:
        return others_can_run(binary)
    except OSError:
        return False


@as_root
@with_python
def test_two_users_at_once(binary, begin, open_folder):
    if not runnable(binary):
        pytest.skip("other users cannot reach " + binary)
    folders = [open_folder / str(uid) for uid in USERS]
    for uid, folder in zip(USERS, folders):
        folder.mkdir()
        os.chown(str(folder), uid, uid)
    runs = [begin("run", "--quiet", "--report", "r.json", "--python", DISTRIBUTION_PYTHON,
                  open_folder / "together.py", "abcd"[i], open_folder, "2", cwd=folder, uid=uid)
            for i, (uid, folder) in enumerate(zip(USERS, folders))]
    assert [ended(run) for run in runs] == [(0, "", "")] * 2
    assert [calls(folder / "r.json") for folder in folders] == [{"only_of_a": 500},
                                                                {"only_of_b": 500}]
    assert [os.stat(str(folder / "r.json")).st_uid for folder in folders] == list(USERS)


@as_root
@with_python
def test_nobody_joins_the_recording_of_another_user(binary, begin, open_folder):
    """Even who knows its address: the other's program runs, and is in no report."""
    if not runnable(binary):
        pytest.skip("other users cannot reach " + binary)
    probe = open_folder / "intruder.py"
    probe.write_text(
        "import os, subprocess, sys\n"
        "subprocess.check_call([sys.executable, *sys.argv[1:]],\n"
        "                      preexec_fn=lambda: (os.setgid(%d), os.setuid(%d)))\n"
        % (USERS[1:] * 2))
    # Root starts a program as another user inside its own recording: that one cannot join either.
    run = begin("run", "--quiet", "--report", "r.json", "--python", DISTRIBUTION_PYTHON, probe,
                open_folder / "together.py", "b", open_folder, "1", cwd=open_folder)
    assert ended(run) == (0, "", "")
    assert calls(open_folder / "r.json") == {}


def test_one_folder_one_trace(begin, open_folder):
    """Default names: the second is told so before it runs anything."""
    first = begin("run", "--quiet", "--python", sys.executable, "together.py", "a", ".", "2",
                  cwd=open_folder)
    while not (open_folder / "begun-a").exists():
        assert first.poll() is None
    second = begin("run", "--python", sys.executable, "together.py", "b", ".", "2",
                   cwd=open_folder)
    assert ended(second) == (2, "", "inferscope: another recording is writing "
                             "inferscope-trace.isc; choose another file with --trace\n")
    assert not (open_folder / "begun-b").exists()
    (open_folder / "begun-b").touch()
    assert ended(first) == (0, "", "")
    assert "only_of_a" in (open_folder / "inferscope-report.md").read_text()


def test_one_folder_two_reports_of_one_name(begin, open_folder):
    """The later one stands, whole; nothing else is left behind."""
    runs = [begin("run", "--quiet", "--no-trace", "--report", "r.json", "--python", sys.executable,
                  "together.py", name, ".", "2", cwd=open_folder) for name in "ab"]
    assert [ended(run) for run in runs] == [(0, "", "")] * 2
    assert calls(open_folder / "r.json") in ({"only_of_a": 500}, {"only_of_b": 500})
    assert sorted(os.listdir(str(open_folder))) == ["begun-a", "begun-b", "r.json", "together.py"]


def test_a_recording_inside_a_recording(binary, begin, open_folder):
    """Each has what it started itself."""
    (open_folder / "outer.py").write_text(
        "import subprocess, sys\ndef only_of_outer():\n    subprocess.check_call(sys.argv[1:])\n"
        "only_of_outer()\n")
    run = begin("run", "--quiet", "--trace", "o.isc", "--report", "o.json",
                "--python", sys.executable, "outer.py",
                binary, "run", "--quiet", "--trace", "i.isc", "--report", "i.json",
                "--python", sys.executable, "together.py", "a", ".", "1", cwd=open_folder)
    assert ended(run) == (0, "", "")
    assert calls(open_folder / "o.json") == {"only_of_outer": 1}
    assert calls(open_folder / "i.json") == {"only_of_a": 500}
