"""On a terminal: progress in its title while the workload runs; none in a pipe or with --quiet."""

import os
import pty
import re
import subprocess
import sys

import pytest

SLOW = "import time\nprint('begin', flush=True)\ntime.sleep(1.2)\nprint('end')\n"


@pytest.fixture
def on_terminal(binary, clean_env, work):
    """Runs the program with standard error on a terminal; returns (status, stdout, terminal)."""
    def run(*args, term="xterm-256color"):
        master, slave = pty.openpty()
        process = subprocess.Popen([binary] + [str(arg) for arg in args], cwd=str(work),
                                   env={**clean_env, "TERM": term}, stdin=subprocess.DEVNULL,
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


TITLES = re.compile(r"\033\]2;([^\a]*)\a|\033\[2([23]);2t")

# Whole lines, begun ones, a bar that redraws itself, and an end without a line break.
CHATTY = """
import sys, time
for i in range(4):
    print("line", i, file=sys.stderr)
    sys.stderr.write("begun ... ")
    sys.stderr.flush()
    time.sleep(0.6)
    sys.stderr.write("done\\rbar %d" % i)
    sys.stderr.flush()
print("the end", end="", file=sys.stderr)
"""
CHATTY_PRINTS = "".join("line %d\r\nbegun ... done\rbar %d" % (i, i) for i in range(4)) + "the end"


def test_progress_is_shown_and_taken_away(on_terminal, command):
    status, out, shown = on_terminal("run", *command)
    assert (status, out) == (0, "begin\nend\n")
    assert shown.startswith("\033[22;2t\033]2;inferscope: recording, ")
    progress, summary = shown.split("\033]2;\a\033[23;2t")
    assert progress.endswith(" 1 process\a")
    assert "inferscope: recording" not in summary and "slow.py" in summary


def test_progress_leaves_the_screen_to_the_workload(on_terminal, work):
    (work / "chatty.py").write_text(CHATTY)
    status, _, shown = on_terminal("run", "--python", sys.executable, "chatty.py")
    assert status == 0
    assert len(TITLES.findall(shown)) >= 3
    assert TITLES.sub("", shown).startswith(CHATTY_PRINTS)


@pytest.mark.parametrize("term", ["dumb", "", "xtermite"])
def test_no_progress_on_a_terminal_without_a_title(on_terminal, command, term):
    status, _, shown = on_terminal("run", *command, term=term)
    assert status == 0 and "\033]" not in shown and "slow.py" in shown
    assert "inferscope: recording" not in shown


def test_quiet_shows_nothing(on_terminal, command):
    assert on_terminal("run", "--quiet", *command) == (0, "begin\nend\n", "")


def test_no_progress_in_a_pipe(inferscope, command):
    done = inferscope("run", *command)
    assert "inferscope: recording" not in done.stderr
    assert "\r" not in done.stderr and "\033" not in done.stderr


def test_errors_are_one_line_on_a_terminal_too(on_terminal):
    assert on_terminal("run", "gone.py") == \
        (1, "", "inferscope: cannot read gone.py: No such file or directory\r\n")
