"""Credentials on command lines are in no trace and no report.  tests/unit/test_secrets.c has the
forms that are known; here is every way that a command line takes into a file."""

import json
import os
import subprocess
import sys

import pytest

SECRET = "Hunter2Hunter2"
STARTS_ANOTHER = """\
import subprocess, sys
subprocess.run([sys.executable, "-c", "pass", "child", "--password", "%s %s",
                "https://me:%s@host/"])
""" % ((SECRET,) * 3)
REPORTS = ["r.md", "r.html", "r.json"]


def written(work, exported):
    """Everything that was written, as text."""
    text = "".join((work / name).read_text() for name in REPORTS)
    return text + json.dumps(exported("inferscope-trace.isc"))


@pytest.fixture
def run(inferscope, work):
    def run(*args, **more):
        (work / "w.py").write_text(STARTS_ANOTHER)
        reports = [word for name in REPORTS for word in ("--report", name)]
        done = inferscope("run", "--python", sys.executable, *reports, *args, **more)
        assert done.returncode == 0, done.stderr
        return done
    return run


def names(work):
    report = json.loads((work / "r.json").read_text())
    return [process["name"] for process in report["processes"]]


@pytest.mark.parametrize("detail", ["short", "normal", "full"])
def test_a_credential_is_nowhere(run, work, exported, detail):
    done = run("--detail", detail, "w.py", "--token", SECRET, "--api-key=" + SECRET, "--port", "80")
    assert SECRET not in done.stderr + written(work, exported)
    if detail != "short":
        command = json.loads((work / "r.json").read_text())["run"]["command"]
        assert command == [sys.executable, "w.py", "--token", "***", "--api-key=***", "--port",
                           "80"]
        main, child = names(work)
        assert main.endswith(" w.py --token *** --api-key=*** --port 80")
        assert child.endswith(" -c pass child --password *** https://***@host/")


@pytest.mark.parametrize("more", [{}, {"env": {"INFERSCOPE_KEEP_SECRETS": "1"}}])
def test_command_lines_are_kept_for_who_asks(run, work, exported, more):
    run(*([] if more else ["--keep-secrets"]), "w.py", "--token", SECRET, **more)
    command = json.loads((work / "r.json").read_text())["run"]["command"]
    assert command == [sys.executable, "w.py", "--token", SECRET]
    main, child = names(work)
    assert main.endswith(" w.py --token " + SECRET)
    assert child.endswith("--password %s %s https://me:%s@host/" % ((SECRET,) * 3))
    assert SECRET in json.dumps(exported("inferscope-trace.isc"))


@pytest.mark.parametrize("length", [412, 424, 430])
def test_a_command_line_that_is_cut_ends_before_a_credential(inferscope, work, length):
    """Names of processes are cut after some 440 bytes: half a URL is not known for one."""
    (work / "w.py").write_text("pass\n")
    padding = "x" * (length - len(sys.executable) - len(" w.py "))
    assert inferscope("run", "--quiet", "--python", sys.executable, "--report", "r.json", "w.py",
                      padding, "https://me:%s@host/" % SECRET).returncode == 0
    name, = names(work)
    assert SECRET[:2] not in name
    assert padding in name


def test_a_program_that_records_itself(binary, work, clean_env, exported):
    (work / "w.py").write_text(
        "import sys\nimport inferscope\n"
        "inferscope.start(%r)\ninferscope.stop()\n" % REPORTS)
    python_path = os.path.join(os.path.dirname(binary), "../lib/inferscope/python")
    env = dict(clean_env, PYTHONPATH=os.path.abspath(python_path))
    done = subprocess.run([sys.executable, "w.py", "--token", SECRET], cwd=str(work), env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    assert (done.returncode, done.stdout) == (0, b"")
    assert SECRET not in written(work, exported)
    assert json.loads((work / "r.json").read_text())["run"]["command"][1:] == \
        ["w.py", "--token", "***"]
