"""A test that hangs fails, says what hung, and leaves nothing running."""

import os
import textwrap

import pytest

import pytest_within

TEXT = """
    import pathlib, subprocess, sys
    import pytest

    hung = pathlib.Path(__file__).with_name("hung")

    def test_hangs_once():
        if hung.exists():
            return
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
        hung.write_text(str(child.pid))
        child.wait()

    @pytest.mark.long
    def test_may_take_long():
        import time
        time.sleep(1.5)

    def test_next():
        pass
"""


def run(folder, *arguments):
    (folder / "conftest.py").write_text("import time_limit\ntime_limit.SECONDS = 1\n")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n  measures: here\n  long: here\n")
    (folder / "test_it.py").write_text(textwrap.dedent(TEXT))
    return pytest_within.run(folder, "-p", "lanes", "-p", "run_again", *arguments)


def test_what_hangs_fails_and_its_processes_are_told_and_killed(tmp_path):
    done = run(tmp_path)
    assert done.returncode == 1 and "1 failed, 2 passed" in done.stdout, done.stdout
    child = (tmp_path / "hung").read_text()
    assert "still not done after 1 s; %s of " % child in done.stdout
    assert "time.sleep(1000)" in done.stdout and "nanosleep" in done.stdout
    assert not os.path.exists("/proc/" + child)


def test_it_is_told_where_the_second_run_went_well(tmp_path):
    pytest.importorskip("xdist")
    done = run(tmp_path, "-n", "1")
    assert done.returncode == 0 and "3 passed" in done.stdout, done.stdout
    assert "test_it.py::test_hangs_once - Failed: still not done after 1 s; " in done.stdout
    assert "time.sleep(1000)" in done.stdout
