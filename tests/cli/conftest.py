"""What only the command-line tests need; the program itself is run by tests/conftest.py."""

import pytest


@pytest.fixture
def refused(inferscope):
    """Runs the program, which must refuse with one line and say nothing else; returns the line."""
    def run(*args, status=2, **more):
        done = inferscope(*args, **more)
        assert done.returncode == status, done.stderr
        assert done.stdout == ""
        lines = done.stderr.splitlines()
        assert len(lines) == 1, done.stderr
        assert lines[0].startswith("inferscope: ")
        return lines[0][len("inferscope: "):]
    return run
