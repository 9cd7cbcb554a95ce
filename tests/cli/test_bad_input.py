"""What `run` does with workloads and paths that cannot work.

Each is one clear line and the documented exit status; what can be known before
the workload starts is found out before it starts.
"""

import glob
import os
import re
import shutil
import subprocess
import sys

import pytest

RAN = "open('ran', 'w').close()\n"


@pytest.fixture
def run(inferscope):
    def run(*args, **more):
        return inferscope("run", "--python", sys.executable, *args, **more)
    return run


def script(work, text, name="script.py"):
    (work / name).write_text(text)
    return name


def left_over(work):
    return sorted(entry.name for entry in work.iterdir())


def test_no_workload(refused):
    assert refused("run") == "run: give a script, or a command after '--'"
    assert refused("run", "--quiet") == "run: give a script, or a command after '--'"
    assert refused("run", "--") == "run: no command after '--'"


def test_a_missing_script(refused, work):
    assert refused("run", "nope.py", status=1) == "cannot read nope.py: No such file or directory"
    assert left_over(work) == []


def test_a_directory_as_script(refused, work):
    (work / "folder").mkdir()
    assert refused("run", "folder", status=1) == "folder is a directory without a __main__.py"
    assert left_over(work) == ["folder"]


@pytest.mark.parametrize("text, status", [
    ("def (\n", 1), ("raise ValueError(3)\n", 1), ("import sys; sys.exit(7)\n", 7),
    ("import sys; sys.exit('farewell')\n", 1), ("import os; os._exit(9)\n", 9)])
def test_a_script_that_fails_fails_as_it_does_alone(run, work, text, status):
    name = script(work, text)
    alone = subprocess.run([sys.executable, name], cwd=str(work), universal_newlines=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    done = run("--quiet", name)
    assert alone.returncode == status
    assert (done.returncode, done.stdout, done.stderr) == (status, alone.stdout, alone.stderr)
    assert "inferscope-report.md" in left_over(work)


@pytest.mark.parametrize("signal", [9, 15])
def test_a_script_that_is_killed(run, work, signal):
    done = run("--quiet", script(work, "import os; os.kill(os.getpid(), %d)\n" % signal))
    assert done.returncode == 128 + signal
    assert "inferscope-report.md" in left_over(work)


@pytest.mark.parametrize("option, path, line", [
    ("--report", "gone/r.md", "cannot write 'gone/r.md': No such file or directory"),
    ("--report", "r.txt",
     "cannot write 'r.txt': the name of a report must end in .md, .html or .json"),
    ("--trace", "gone/t.isc", "cannot write the trace gone/t.isc: No such file or directory"),
])
def test_output_that_cannot_be_is_found_out_before_the_workload_runs(refused, work, option, path,
                                                                      line):
    name = script(work, RAN)
    assert refused("run", "--python", sys.executable, option, path, name) == line
    assert left_over(work) == [name]


def test_a_full_disk_costs_the_report_and_nothing_else(run, work):
    done = run("--quiet", "--report", "/dev/full", "--report", "r.json", script(work, RAN))
    assert done.returncode == 0
    assert done.stderr == "inferscope: cannot write '/dev/full': No space left on device\n"
    assert {"ran", "r.json"} <= set(left_over(work))


def test_no_python_in_path(refused, work, tmp_path):
    (tmp_path / "empty").mkdir()
    name = script(work, RAN)
    assert refused("run", name, status=127, env={"PATH": str(tmp_path / "empty")}) == \
        "python3 was not found in PATH; set an interpreter with --python PATH"
    assert left_over(work) == [name]


def test_a_python_that_is_not_there(refused, work):
    name = script(work, RAN)
    assert refused("run", "--python", "/nope", name, status=127) == \
        "no Python at /nope (from command line)"
    assert refused("run", name, status=127, env={"INFERSCOPE_PYTHON": "/nope"}) == \
        "no Python at /nope (from INFERSCOPE_PYTHON)"


def test_a_command_that_cannot_be_executed(refused, work):
    assert refused("run", "--", "/nope", status=127) == "cannot run /nope: not found"
    name = script(work, RAN)
    assert refused("run", "--", "./" + name, status=126) == \
        "cannot run ./%s: not executable" % name


def old_pythons():
    """Those before 3.8 that start."""
    pyenv = os.path.join(os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv")), "versions")
    for path in (glob.glob(os.path.join(pyenv, "3.[4567].*/bin/python"))
                 + glob.glob(os.path.join(pyenv, "2.*/bin/python"))
                 + [shutil.which(name) for name in ("python3.7", "python3.6", "python2")]):
        if path and not subprocess.run([path, "-c", ""], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL).returncode:
            yield path


@pytest.mark.parametrize("python", list(old_pythons()) or [None])
def test_a_python_that_is_too_old_runs_unrecorded(inferscope, clean_env, work, python):
    if not python:
        pytest.skip("no Python before 3.8 here")
    args = ["--python", python, script(work, "import sys\nprint(sys.path[1:])\nsys.exit(5)\n")]
    alone = subprocess.run([python, "script.py"], cwd=str(work), env=clean_env,
                           stdout=subprocess.PIPE, universal_newlines=True)
    done = inferscope("run", "--quiet", *args)
    assert done.returncode == 5
    assert re.match(r"inferscope: process \d+: Python [23]\.\d is too old: its calls are not "
                    r"recorded \(3\.8 or newer is needed\)\n$", done.stderr)
    # The package stands last on the path, as for every workload.
    assert alone.stdout[:-2] in done.stdout
    assert "inferscope-report.md" in left_over(work)
    assert inferscope("run", "--quiet", "--strict", *args).returncode == 4
    assert inferscope("run", "--quiet", "--log-level", "error", *args).stderr == ""


@pytest.mark.parametrize("option", ["-I", "-E", "-S"])
def test_a_python_that_keeps_the_agent_out_runs_unrecorded(inferscope, work, option):
    args = ["--", sys.executable, option, script(work, RAN + "raise SystemExit(5)\n")]
    done = inferscope("run", "--quiet", *args)
    assert done.returncode == 5
    assert done.stderr == "inferscope: no Python process with the agent was started: " \
        "no calls were recorded (python -I, -E and -S keep the agent from loading: start Python " \
        "without them; a container or sandbox started by the command does too: put " \
        "'inferscope run' inside it)\n"
    assert "ran" in left_over(work)
    assert inferscope("run", "--quiet", "--strict", *args).returncode == 4


def test_mistakes_in_rules_are_found_before_the_workload_runs(run, work):
    name = script(work, RAN)
    (work / "r.yaml").write_text("bottleneck_rules:\n- name: a\n  condition: nonsense > 1\n")
    for options, line in [
            (("--rules", "r.yaml"),
             "r.yaml:3: rule 'a': condition: at character 1: no such column: nonsense"),
            (("--rules", "none.yaml"),
             "cannot read the rules file 'none.yaml': No such file or directory")]:
        done = run("--quiet", *options, name)
        assert (done.returncode, done.stderr) == (2, "inferscope: %s\n" % line)
    assert "ran" not in left_over(work)


def test_enable_0_is_a_plain_start(run, work):
    done = run(script(work, "import os; print('INFERSCOPE_SESSION' in os.environ)"),
               env={"INFERSCOPE_ENABLE": "0"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\n", "")
    assert left_over(work) == ["script.py"]


def test_options_behind_the_script_are_its_own(run, work):
    name = script(work, "import sys; print(sys.argv[1:])")
    done = run("--quiet", name, "--quiet", "--help", "--")
    assert done.stdout == "['--quiet', '--help', '--']\n"


def test_settings_in_a_wrong_file_stop_the_run(refused, work):
    name = script(work, RAN)
    (work / ".inferscope.yaml").write_text("cpu: fast\n")
    assert refused("run", name) == "%s/.inferscope.yaml:1: cpu: expected auto|trace|sample|off, " \
        "not 'fast'" % work
    assert not os.path.exists(str(work / "ran"))
