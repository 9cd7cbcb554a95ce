"""Runs the real program, in an empty directory and without the developer's own settings."""

import os
import subprocess

import pytest

from measured_again import pytest_runtest_protocol, pytest_terminal_summary  # noqa: F401, the hooks

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def binary():
    path = os.environ.get("INFERSCOPE_BIN", os.path.join(ROOT, "build/stage/bin/inferscope"))
    if not os.access(path, os.X_OK):
        pytest.fail("no program at %s: build it, or set INFERSCOPE_BIN" % path)
    return os.path.abspath(path)


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
    def run(*args, env=None, cwd=work, text=True, timeout=60, **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        more.setdefault("stdout", subprocess.PIPE)
        more.setdefault("stderr", subprocess.PIPE)
        return subprocess.run([binary] + [str(arg) for arg in args], env={**clean_env, **(env or {})},
                              cwd=str(cwd), universal_newlines=text, timeout=timeout, **more)
    return run
