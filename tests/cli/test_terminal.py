"""On a terminal: a progress line while the workload runs; none in a pipe or with --quiet."""

import os
import pty
import subprocess
import sys

import pytest

SLOW = "import time\nprint('begin', flush=True)\ntime.sleep(1.2)\nprint('end')\n"


@pytest.fixture
def on_terminal(binary, clean_env, work):
    """Runs the program with standard error on a terminal; returns (status, stdout, terminal)."""
    def run(*args):
        master, slave = pty.openpty()
        process = subprocess.Popen([binary] + [str(arg) for arg in args], cwd=str(work),
                                   env={**clean_env, "TERM": "xterm"}, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=slave)
        os.close(slave)
        shown = b""
        while True:
            try:
                data = os.read(master, 65536)
            except OSError:  # the other side is closed
                break
            if not data:
                break
            shown += data
        os.close(master)
        out = process.communicate(timeout=60)[0]
        return process.returncode, out.decode(), shown.decode()
    return run


@pytest.fixture
def command(work):
    (work / "slow.py").write_text(SLOW)
    return ["--python", sys.executable, "slow.py"]


def test_progress_is_shown_and_taken_away(on_terminal, command):
    status, out, shown = on_terminal("run", *command)
    assert (status, out) == (0, "begin\nend\n")
    progress, summary = shown.rsplit("\r\033[K", 1)
    assert "inferscope: recording, " in progress and progress.endswith(" 1 process\r")
    assert "recording" not in summary and "slow.py" in summary
    assert "\n" not in progress


def test_quiet_shows_nothing(on_terminal, command):
    assert on_terminal("run", "--quiet", *command) == (0, "begin\nend\n", "")


def test_no_progress_in_a_pipe(inferscope, command):
    done = inferscope("run", *command)
    assert "recording" not in done.stderr and "\r" not in done.stderr and "\033" not in done.stderr


def test_errors_are_one_line_on_a_terminal_too(on_terminal):
    assert on_terminal("run", "gone.py") == \
        (1, "", "inferscope: cannot read gone.py: No such file or directory\r\n")
