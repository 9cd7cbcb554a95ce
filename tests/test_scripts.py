"""The set-up scripts, on machines that are pretended: nothing is installed here."""

import os
import shutil
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def script(name, *arguments, **environment):
    return subprocess.run([os.path.join(ROOT, "scripts", name), *arguments], cwd=ROOT, text=True,
                          env=dict(os.environ, **environment), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


@pytest.fixture
def machine(tmp_path):
    """A PATH on which only the basic tools exist; add more with machine.tool()."""
    class Machine:
        path = tmp_path / "bin"
        log = tmp_path / "calls"
        environment = {"PATH": str(path), "INFERSCOPE_LOGS": str(tmp_path / "logs")}

        def tool(self, name, body="exit 0"):
            file = self.path / name
            file.write_text("#!/bin/sh\necho %s \"$@\" >>%s\n%s\n" % (name, self.log, body))
            file.chmod(0o755)

        def calls(self):
            return self.log.read_text().splitlines() if self.log.exists() else []

    made = Machine()
    made.path.mkdir()
    for name in ("sh", "env", "dirname", "mkdir", "date", "tail", "cut", "cat"):
        (made.path / name).symlink_to(shutil.which(name))
    return made


def test_a_step_is_one_line_and_its_output_a_log(tmp_path):
    run = script("step.sh", "hello", "saying hello", "echo", "inside",
                 INFERSCOPE_LOGS=str(tmp_path))
    assert run.returncode == 0
    assert run.stdout.startswith("saying hello ... done") and run.stdout.count("\n") == 1
    assert (tmp_path / "hello.log").read_text() == "inside\n"


def test_a_failed_step_shows_its_output_and_keeps_its_status(tmp_path):
    run = script("step.sh", "bad", "failing", "sh", "-c", "echo the reason >&2; exit 7",
                 INFERSCOPE_LOGS=str(tmp_path))
    assert run.returncode == 7
    assert "the reason" in run.stdout and str(tmp_path / "bad.log") in run.stdout


def test_only_what_is_missing_is_installed(machine):
    for name in ("cc", "g++", "cmake", "apt-get"):
        machine.tool(name)
    machine.tool("id", "echo 0")
    run = script("packages.sh", "build", **machine.environment)
    assert run.returncode == 0, run.stdout
    installs = [call for call in machine.calls() if call.startswith("apt-get install")]
    assert installs == ["apt-get install -y --no-install-recommends ninja-build"]
    assert run.stdout.startswith("installing ninja-build ... done")


def test_nothing_missing_means_no_word_and_no_install(machine):
    for name in ("cc", "g++", "cmake", "ninja", "apt-get", "id"):
        machine.tool(name)
    run = script("packages.sh", "build", **machine.environment)
    assert (run.returncode, run.stdout) == (0, "")
    assert not any(call.startswith("apt-get") for call in machine.calls())


def test_without_root_and_sudo_the_command_to_run_is_named(machine):
    machine.tool("apt-get")
    machine.tool("id", "echo 1000")
    run = script("packages.sh", "coverage", **machine.environment)
    assert run.returncode == 1
    assert "apt-get install gcovr" in run.stdout
    assert not any(call.startswith("apt-get") for call in machine.calls())


def test_with_sudo_but_no_terminal_no_password_is_waited_for(machine):
    machine.tool("apt-get")
    machine.tool("id", "echo 1000")
    machine.tool("sudo", "exit 1")
    run = script("packages.sh", "coverage", **machine.environment)
    assert run.returncode != 0
    assert machine.calls()[-1].startswith("sudo -n ")


def test_other_distributions_are_told_what_is_missing(machine):
    run = script("packages.sh", "coverage", **machine.environment)
    assert run.returncode == 1
    assert "gcovr" in run.stdout and "not a Debian" in run.stdout


def test_an_unknown_source_of_torch_is_refused():
    run = script("venv.sh", INFERSCOPE_TORCH="conda")
    assert run.returncode == 2
    assert run.stdout == "INFERSCOPE_TORCH=conda: must be auto, pypi, distribution or none\n"


def found_pythons(*arguments):
    run = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "find_pythons.py"),
                          *arguments], stdout=subprocess.PIPE, text=True, check=True)
    return run.stdout.strip().split(":")


def version(python):
    run = subprocess.run([python, "-c", "import sys; print(*sys.version_info[:2])"], text=True,
                         stdout=subprocess.PIPE, check=True)
    return tuple(map(int, run.stdout.split()))


def test_the_pythons_found_start_with_this_one_and_differ():
    pythons = found_pythons()
    assert pythons[0] == sys.executable
    versions = [version(python) for python in pythons]
    assert len(set(versions)) == len(versions)
    assert [version(python) for python in found_pythons("--ends")] == [min(versions), max(versions)]
