"""In a container without privileges a recording works, or one line says why it does not."""

import json
import subprocess
import sys

import pytest

import sandbox

SCRIPT = """
import os, subprocess, sys
def known():
    return os.getpid()
for _ in range(100):
    known()
if len(sys.argv) > 1:
    subprocess.check_call([sys.executable, __file__])
print("done")
"""


def namespaces_work():
    try:
        return subprocess.run(["unshare", "-Urmpf", "--mount-proc", "true"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


with_namespaces = pytest.mark.skipif(not namespaces_work(),
                                     reason="this machine lets nobody make namespaces")
with_seccomp = pytest.mark.skipif(not sandbox.supported(), reason="no system call numbers")


@pytest.fixture
def script(work):
    path = work / "known.py"
    path.write_text(SCRIPT)
    return path


@pytest.fixture
def inside(binary, clean_env, work):
    """Runs `inferscope ARGS` in a user, mount and pid namespace, after a shell command."""
    def run(*args, setup="true", **more):
        command = ["unshare", "-Urmpf", "--mount-proc", "sh", "-ec", setup + '; exec "$0" "$@"',
                   binary] + [str(arg) for arg in args]
        env = {**clean_env, **more.pop("env", {})}
        return subprocess.run(command, cwd=str(work), env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, timeout=60, **more)
    return run


def calls_of_known(work):
    report = json.loads((work / "r.json").read_text())
    return sum(f["calls"] for f in report["cpu"]["functions"] if f["name"] == "known")


RECORD = ("run", "--quiet", "--cpu", "trace", "--report", "r.json", "--python", sys.executable)


@with_namespaces
def test_a_recording_inside_a_container(inside, work, script):
    done = inside(*RECORD, script, "child")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\ndone\n", "")
    assert calls_of_known(work) == 200


@with_namespaces
@pytest.mark.parametrize("flags", ["-Ur", "-Urpf", "-Urmpf --mount-proc"])
def test_a_container_inside_a_recording_is_said(inferscope, work, script, flags):
    command = ["--", "unshare"] + flags.split() + [sys.executable, script]
    done = inferscope("run", "--quiet", "--report", "r.json", *command)
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert "no calls were recorded" in done.stderr
    assert "put 'inferscope run' inside it" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert inferscope("run", "--quiet", "--strict", *command).returncode == 4


@with_namespaces
def test_without_proc(inside, script):
    done = inside("run", "--python", sys.executable, script, setup="mount -t tmpfs none /proc")
    assert (done.returncode, done.stdout) == (126, "")
    assert "is /proc mounted?" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@with_namespaces
def test_a_read_only_folder(inside, work, script):
    setup = "mount --bind . . && cd . && mount -o remount,bind,ro \"$PWD\" && cd \"$PWD\""
    done = inside("run", "--python", sys.executable, script, setup=setup)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Read-only file system" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    done = inside("run", "--quiet", "--no-trace", "--report", "-", "--python", sys.executable,
                  script, setup=setup)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("done\n") and "known" in done.stdout


@with_seccomp
def test_system_calls_that_are_not_needed(inferscope, work, script):
    refused = [name for name in sandbox.NUMBERS if name != "memfd_create"]
    done = inferscope(*RECORD, script, "child", preexec_fn=sandbox.refuse(*refused))
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\ndone\n", "")
    assert calls_of_known(work) == 200


@with_seccomp
def test_without_memory_files(inferscope, script):
    """One line, before anything runs; doctor knows the remedy."""
    refusing = sandbox.refuse("memfd_create")
    done = inferscope(*RECORD, script, preexec_fn=refusing)
    assert (done.returncode, done.stdout) == (2, "")
    assert "memfd_create is refused" in done.stderr and len(done.stderr.splitlines()) == 1
    done = inferscope("doctor", preexec_fn=refusing)
    assert done.returncode == 1 and "allow memfd_create" in done.stdout


@with_namespaces
def test_shared_memory_of_no_size(inside, work, script):
    """/dev/shm, which containers make small, is not used."""
    done = inside(*RECORD, script, setup="mount -t tmpfs -o size=4k none /dev/shm")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    assert calls_of_known(work) == 100
