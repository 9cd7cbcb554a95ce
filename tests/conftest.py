"""Runs the real program, in an empty directory and without the developer's own settings."""

import os
import signal
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Threads of OpenMP wait for each other in loops: several tests at a time, each with one for every
# core, take minutes for what takes seconds.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_configure(config):
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # started by a shell with &
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:  # started by nohup
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def binary():
    path = os.environ.get("INFERSCOPE_BIN", os.path.join(ROOT, "build/stage/bin/inferscope"))
    if not os.access(path, os.X_OK):
        pytest.fail("no program at %s: build it, or set INFERSCOPE_BIN" % path)
    return os.path.abspath(path)


@pytest.fixture(scope="session")
def let_all_in(tmp_path_factory):
    """Makes a folder, and pytest's own on the way to it, such that every user may go there."""
    base = tmp_path_factory.getbasetemp()

    def open_up(path):
        for folder in [path, *path.parents]:
            if base in [folder, *folder.parents] or folder.name.startswith("pytest-"):
                folder.chmod(folder.stat().st_mode | 0o755)
    return open_up


@pytest.fixture
def clean_env(tmp_path):
    """The environment without settings; the home directory is empty."""
    home = tmp_path / "home"
    home.mkdir()
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("INFERSCOPE_", "XDG_", "PYTHON"))}
    env["HOME"] = str(home)
    return env


@pytest.fixture
def work(tmp_path):
    """The directory in which the program runs."""
    path = tmp_path / "work"
    path.mkdir()
    return path


@pytest.fixture
def inferscope(binary, clean_env, work):
    """Runs the program; env adds to the environment, cwd is `work` unless told."""
    def run(*args, env=None, cwd=work, text=True, timeout=240, **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        more.setdefault("stdout", subprocess.PIPE)
        more.setdefault("stderr", subprocess.PIPE)
        return subprocess.run([binary] + [str(arg) for arg in args], cwd=str(cwd), timeout=timeout,
                              env={**clean_env, **(env or {})}, universal_newlines=text, **more)
    return run
