"""What the program says about itself, and to people who mistype."""

import os
import re

import pytest


def commands_of(text):
    return re.findall(r"^  ([a-z]+) ", text.split("commands:\n")[1], re.M)


def test_help_lists_commands_that_exist(inferscope):
    done = inferscope("--help")
    assert done.returncode == 0
    assert done.stderr == ""
    commands = commands_of(done.stdout)
    assert "config" in commands
    for command in commands:
        of_command = inferscope(command, "--help")
        assert of_command.returncode == 0
        assert of_command.stdout.startswith("usage: inferscope %s " % command)
        assert inferscope("help", command).stdout == of_command.stdout
        assert inferscope("--help", command).stdout == of_command.stdout
        assert inferscope(command, "-h").stdout == of_command.stdout


def test_help_fits_a_terminal(inferscope):
    texts = [inferscope("--help").stdout]
    texts += [inferscope("help", name).stdout for name in commands_of(texts[0])]
    assert [line for text in texts for line in text.splitlines() if len(line) > 80] == []


def test_help_names_every_option_once(inferscope):
    text = inferscope("config", "--help").stdout
    options = re.findall(r"^  (-\S+)", text, re.M)
    assert sorted(options) == ["--config", "--help", "--origin"]


def test_help_of_run_names_the_exit_status_of_each_failure(inferscope, work):
    said = " ".join(inferscope("run", "--help").stdout.split("options:\n")[0].split())
    (work / "plain.txt").write_text("no program")
    for args, words in [
            (["gone.py"], "%d when the script cannot be read"),
            (["--", "./gone"], "126 or %d when the command or Python cannot be executed or found"),
            (["--", "./plain.txt"], "%d or 127 when the command or Python cannot be executed"),
            (["--zzzzzzzz"], "%d for a mistake in the options")]:
        assert words % inferscope("run", *args).returncode in said


def test_version(inferscope):
    done = inferscope("--version")
    assert done.returncode == 0
    assert re.match(r"inferscope \d+\.\d+\.\d+\n$", done.stdout)


def test_no_arguments_is_a_usage_error_with_help(inferscope):
    done = inferscope()
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == inferscope("--help").stdout


@pytest.mark.parametrize("typed, line", [
    ("cofnig", "unknown command 'cofnig'; did you mean 'config'?"),
    ("report", "unknown command 'report'; did you mean 'analyze'?"),
    ("profile", "unknown command 'profile'; did you mean 'run'?"),
    ("--versoin", "unknown option '--versoin'; did you mean '--version'?"),
    ("zzzzzz", "unknown command 'zzzzzz'; see 'inferscope --help'"),
    ("", "unknown command ''; see 'inferscope --help'"),
])
def test_unknown_command(refused, typed, line):
    assert refused(typed) == line


def test_a_script_without_run(refused, work):
    (work / "serve.py").write_text("")
    assert refused("serve.py") == \
        "unknown command 'serve.py'; did you mean 'inferscope run serve.py'?"


def test_a_trace_without_analyze(refused, work):
    (work / "run.isc").write_text("")
    assert refused("run.isc") == \
        "unknown command 'run.isc'; did you mean 'inferscope analyze run.isc'?"


@pytest.mark.parametrize("typed, python", [
    (["-m", "pkg"], "python3"),
    (["-m", "pkg", "--python", ".venv/bin/python"], ".venv/bin/python"),
    (["--python", ".venv/bin/python", "-m", "pkg"], ".venv/bin/python"),
    (["--quiet", "--python=/opt/py", "-m", "pkg", "x"], "/opt/py"),
    (["-m", "pkg", "--python"], "python3"),
    (["-m", "pkg", "--", "--python", "x"], "python3"),
])
def test_a_module_is_run_as_a_command_by_the_python_that_was_named(refused, typed, python):
    assert refused("run", *typed) == \
        "unknown option '-m'; did you mean 'run -- %s -m ...'?" % python


def test_a_module_is_run_as_a_command_by_the_python_of_the_environment(refused):
    assert refused("run", "-c", "pass", env={"INFERSCOPE_PYTHON": "/opt/py"}) == \
        "unknown option '-c'; did you mean 'run -- /opt/py -c ...'?"


def test_help_for_an_unknown_command(refused):
    assert refused("help", "confgi") == "unknown command 'confgi'; did you mean 'config'?"


@pytest.mark.parametrize("args, line", [
    (["config"], "config: no action given; use show or reference"),
    (["config", "shwo"], "config: unknown action 'shwo'; did you mean 'show'?"),
    (["config", "zzzzzz"], "config: unknown action 'zzzzzz'; use show or reference"),
    (["config", "show", "more"], "config: unexpected 'more' after 'show'"),
    (["config", "show", "--orign"], "unknown option '--orign'; did you mean '--origin'?"),
    (["config", "show", "--cpu"], "option '--cpu' does not belong to this command"),
    (["config", "show", "--config"], "--config needs a value: --config FILE"),
    (["config", "show", "--origin=1"], "--origin takes no value"),
])
def test_mistakes_are_named(refused, args, line):
    assert refused(*args) == line


def test_a_complaint_is_one_line_whatever_was_typed(refused):
    assert "\x1b" not in refused("two\nlines\x1b[31m")


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["config", "show"],
                                  ["config", "--help"], ["config", "reference"]])
def test_output_that_cannot_be_written_is_an_error(inferscope, args):
    with open("/dev/full", "wb") as full:
        done = inferscope(*args, stdout=full)
    assert done.returncode == 1
    assert done.stderr == ("inferscope: cannot write to standard output: "
                           "No space left on device\n")


def test_settings_reference_is_up_to_date(inferscope, root):
    with open(os.path.join(root, "docs/SETTINGS.md"), encoding="utf-8") as file:
        committed = file.read()
    assert inferscope("config", "reference").stdout == committed, \
        "run: inferscope config reference > docs/SETTINGS.md"


@pytest.mark.parametrize("option", ["--python=x", "--strict", "--verify-overhead",
                                    "--wait-children"])
def test_a_program_that_runs_already_takes_no_option_of_its_start(refused, option):
    assert refused("record", "--pid", os.getpid(), option) == \
        "option '%s' does not belong to this command" % option.split("=")[0]
