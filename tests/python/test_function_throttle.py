"""Pythons that the agent does not get into, or does not know: told, and the rest is recorded.

Builds that cannot be had everywhere are played: a .pth file, which runs before any sitecustomize,
makes an interpreter look like a debug or free-threaded one; a copy of the interpreter with another
number in it is one of a version to come.  Where a real debug build is installed it is used as well.
"""

import json
import os
import re
import shutil
import subprocess

import pytest

import gpu_trace

LAUNCHES = """
    import sys
    sys.path.append(%r)
    import fake_cuda
    def launch():
        fake_cuda.launch("mine")
    fake_cuda.init()
    for _ in range(3):
        launch()
    print("done")
    sys.exit(5)
"""


@pytest.fixture
def run_gpu(inferscope, gpu_env, write, work, report):
    """Runs a command with a program that uses the fake CUDA; returns the run, trace and notes."""
    def run(*command, options=()):
        path = write(LAUNCHES % gpu_env["PYTHONPATH"])
        done = inferscope("run", "--quiet", *options, "--report", "r.json", "--trace", "t.isc",
                          "--", *command, path, env=gpu_env)
        return done, gpu_trace.load(str(work / "t.isc")), report()["trust"]["notes"]
    return run


@pytest.fixture
def venv(python, tmp_path):
    """Makes a virtual environment of `python` whose interpreter runs a line before anything."""
    def make(line):
        folder = tmp_path / "venv"
        subprocess.run([python, "-m", "venv", "--without-pip", str(folder)], check=True)
        site, = (folder / "lib").glob("python*/site-packages")
        (site / "first.pth").write_text(line + "\n")
        return str(folder / "bin" / "python")
    return make


BUILDS = [("import sys; sys.gettotalrefcount = lambda: 0", "a debug build"),
          ("import sys; sys.abiflags = 't'", "a free-threaded build")]


@pytest.mark.parametrize("option", ["-I", "-E", "-S"])
def test_without_the_agent_the_gpu_is_recorded_and_the_rest_is_told(python, version, run_gpu,
                                                                    option):
    done, trace, notes = run_gpu(python, option)
    told, = [note for note in notes if "did not load the agent" in note]
    assert told.startswith("CPython %d.%d (process " % version)
    assert told.endswith("-I, -E, -S and a PYTHONPATH of its own (as for torch.compile's workers) "
                         "prevent loading")
    assert (done.returncode, done.stdout, done.stderr) == (5, "done\n", "inferscope: %s\n" % told)
    assert len(trace.kernels) == 3


POOL = """
    import subprocess, sys
    for _ in range(3):
        subprocess.run([sys.executable, "-I", "-c", sys.argv[1]])
"""


def test_a_pool_of_such_pythons_is_told_of_once(python, inferscope, gpu_env, write, work, report):
    worker = "import sys; sys.path.append(%r); import fake_cuda; fake_cuda.init()" \
        % gpu_env["PYTHONPATH"]
    done = inferscope("run", "--quiet", "--python", python, "--report", "r.json", "--trace",
                      "t.isc", write(POOL), worker, env=gpu_env)
    notes = [note for note in report()["trust"]["notes"] if "did not load the agent" in note]
    assert len(notes) == 2 and done.stderr == "inferscope: %s\n" % notes[0]
    assert notes[1] == "2 more Python processes did not load the agent either"


def test_strict_and_quiet_without_the_agent(python, run_gpu):
    assert run_gpu(python, "-S", options=["--strict"])[0].returncode == 4
    done, _, _ = run_gpu(python, "-S", options=["--log-level", "error"])
    assert (done.returncode, done.stderr) == (5, "")


@pytest.mark.parametrize("line, what", BUILDS)
def test_builds_that_are_refused(venv, version, run_gpu, inferscope, line, what):
    """The reason is told once, the GPU is recorded, `doctor` says the same."""
    python = venv(line)
    done, trace, notes = run_gpu(python)
    reason = "Python %d.%d is %s: its calls are not recorded" % (version + (what,))
    told, = [note for note in notes if "calls are not recorded" in note]
    assert re.match(r"process \d+: " + re.escape(reason), told)
    assert (done.returncode, done.stdout, done.stderr) == (5, "done\n", "inferscope: %s\n" % told)
    assert len(trace.kernels) == 3
    found = {row["name"]: row for row in
             json.loads(inferscope("doctor", "--json", "--python", python).stdout)["answers"]}
    found = found["Python"]
    assert found["status"] == "problem" and reason in found["found"] and "--python" in found["fix"]


@pytest.mark.parametrize("line, what", BUILDS)
def test_refused_builds_import_the_package_and_go_without(venv, plain, write, line, what):
    write("""
        import inferscope
        with inferscope.scope("step"):
            inferscope.mark_event("here")
        assert not inferscope.is_recording()
        try:
            inferscope.start()
        except RuntimeError as error:
            print(error)
    """)
    done = plain(venv(line), "program.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "inferscope cannot record in this Python: " \
        "inferscope does not record debug and free-threaded builds\n"


def debug_builds():
    for minor in range(8, 16):
        found = shutil.which("python3.%d-dbg" % minor)
        if found:
            yield found


@pytest.mark.parametrize("debug", list(debug_builds()) or [None])
def test_a_real_debug_build(run_gpu, inferscope, debug):
    if not debug:
        pytest.skip("no debug build of Python here (Debian: python3-dbg)")
    done, trace, notes = run_gpu(debug)
    assert (done.returncode, done.stdout, len(trace.kernels)) == (5, "done\n", 3)
    assert sum("is a debug build" in note for note in notes) == 1
    assert "is a debug build" in inferscope("doctor", "--python", debug).stdout


WHERE = """
import os, platform, sys
libraries = {line.split()[-1] for line in open("/proc/self/maps") if "/libpython" in line}
print(platform.python_version(), os.path.realpath(sys.executable), *libraries, sep="\\n")
"""


def renumbered(path, number, new, folder):
    """A copy of a file in which Python has another version number of the same length."""
    with open(path, "rb") as file:
        data = file.read()
    old, new = number.encode() + b"\0", new.encode() + b"\0"
    assert len(old) == len(new)
    copy = folder / os.path.basename(path)
    copy.write_bytes(data.replace(old, new))
    copy.chmod(0o755)
    return str(copy)


@pytest.fixture
def disguised(python, tmp_path):
    """How to start a copy of the interpreter that believes to be 3.MINOR."""
    number, program, *libraries = subprocess.check_output(
        [python, "-c", WHERE], universal_newlines=True).splitlines()
    folder = tmp_path / "disguised" / "bin"

    def disguise(minor):
        new = ("3.%d.0000" % minor)[:len(number)]
        folder.mkdir(parents=True)
        (folder.parent / "pyvenv.cfg").write_text("home = %s\n" % os.path.dirname(program))
        command = [renumbered(program, number, new, folder)]
        if libraries:  # one of the same name that is loaded already is the one that is used
            command = ["env", "LD_PRELOAD=" + renumbered(libraries[0], number, new, folder)] \
                + command
        version = subprocess.check_output(command + ["-c", "import sys; print(sys.version)"],
                                          universal_newlines=True)
        assert version.startswith("3.%d." % minor)
        return command
    return disguise


@pytest.fixture
def from_the_future(disguised):
    return disguised(99)


@pytest.mark.parametrize("step", [-1, 1])
def test_a_layout_that_is_not_this_interpreters(python, version, disguised, run_gpu, step):
    """As if a point release or a distributor had moved a field: refused, not a crash."""
    other = version[1] + step
    if len(str(other)) != len(str(version[1])):
        pytest.skip("the number of a neighbour is longer or shorter")
    if other == 11 and step == -1:
        pytest.skip("one that lies about having sys.monitoring is another program altogether")
    done, trace, _ = run_gpu(*disguised(other))
    assert (done.returncode, done.stdout) == (5, "done\n")
    assert len(trace.kernels) == 3
    for call in trace.calls:  # lines are right or there are none
        assert all(frame for frame in trace.stack(call))


def test_a_version_to_come(from_the_future, version, run_gpu, report):
    """No layout is known: what the public interface gives is recorded, the rest is told."""
    done, trace, notes = run_gpu(*from_the_future)
    assert (done.returncode, done.stdout) == (5, "done\n")
    assert len(trace.kernels) == 3
    calls = [f["calls"] for f in report()["cpu"]["functions"] if f["name"] == "launch"]
    refused = [note for note in notes if "its calls are not recorded" in note]
    if version >= (3, 12):
        assert (calls, refused, done.stderr) == ([3, 3], [], "")
    else:  # one that has no sys.monitoring
        assert (calls, len(refused)) == ([], 1)
    told, = [note for note in notes if "no Python lines" in note]
    assert re.match(r"the frames of CPython 3\.99 \(process \d+\) have a layout unknown",
                    told)
    assert all(trace.stack(call) == [] for call in trace.calls)
