"""The ways to name a workload: each runs as it does alone, and is recorded."""

import json
import os
import subprocess
import sys
import zipapp

import pytest

BODY = "import sys\ndef known():\n    return sys.argv\nprint(known(), __name__)\n"


@pytest.fixture
def check(inferscope, work, clean_env):
    """Runs a command alone and recorded: both do the same, and known() is in the report."""
    def check(alone, *recorded, calls=1, stdin=os.devnull):
        with open(str(work / stdin)) as source:
            want = subprocess.run(alone, cwd=str(work), env=clean_env, universal_newlines=True,
                                  stdin=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with open(str(work / stdin)) as source:
            done = inferscope("run", "--quiet", "--cpu", "trace", "--report", "r.json", *recorded,
                              stdin=source)
        assert (done.returncode, done.stdout, done.stderr) == \
            (want.returncode, want.stdout, want.stderr)
        report = json.loads((work / "r.json").read_text())
        assert [f["calls"] for f in report["cpu"]["functions"] if f["name"] == "known"] == [calls]
        return report
    return check


@pytest.fixture
def package(work):
    (work / "pkg").mkdir()
    (work / "pkg" / "__init__.py").write_text("")
    (work / "pkg" / "__main__.py").write_text(BODY)
    return "pkg"


def executable(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return "./" + path.name


def test_a_module(check, package):
    command = [sys.executable, "-m", package, "a", "b"]
    check(command, "--", *command)


def test_a_package_as_script(check, package):
    check([sys.executable, package, "a"], "--python", sys.executable, package, "a")


def test_a_script_by_a_detour_has_one_name(inferscope, work):
    (work / "script.py").write_text(BODY)
    (work / "sub").mkdir()
    done = inferscope("run", "--cpu", "trace", "--detail", "full", "--report", "r.md",
                      "--python", sys.executable, "../script.py", cwd=work / "sub")
    assert done.returncode == 0, done.stderr
    report = (work / "sub" / "r.md").read_text()
    assert "| `known` | `script.py:2` |" in report
    for text in (report, done.stderr):
        assert "/../" not in text


def test_code_on_the_command_line(check):
    command = [sys.executable, "-c", BODY, "-x"]
    report = check(command, "--", *command)
    assert report["run"]["command"] == command


def test_a_script_on_standard_input(check, work):
    (work / "script.py").write_text(BODY)
    alone = [sys.executable, "-", "a"]
    check(alone, "--python", sys.executable, "-", "a", stdin="script.py")
    check(alone, "--", *alone, stdin="script.py")


def test_an_archive(check, package, work):
    zipapp.create_archive(str(work / package), str(work / "app.pyz"), interpreter=sys.executable)
    check([sys.executable, "app.pyz", "a"], "--python", sys.executable, "app.pyz", "a")
    check(["./app.pyz", "a"], "--", "./app.pyz", "a")


def test_a_program_with_an_interpreter_line(check, work):
    tool = executable(work / "tool", "#!%s\n%s" % (sys.executable, BODY))
    check([tool, "a"], "--", tool, "a")
    check([sys.executable, tool, "a"], "--python", sys.executable, tool, "a")


def test_a_shell_script_that_starts_python(check, work):
    (work / "script.py").write_text(BODY)
    tool = executable(work / "tool.sh", "#!/bin/sh\n%s script.py\n%s script.py x\nexit 9\n"
                      % (sys.executable, sys.executable))
    report = check([tool], "--", tool, calls=2)
    assert report["run"]["exit_status"] == 9
    assert len(report["processes"]) == 2


@pytest.mark.parametrize("name", ["with space.py", "hyphen-ation.PY", "schrödinger.py",
                                  "new\nline.py", "quote'\".py", "no_ending", "%s%n.py"])
def test_names_of_scripts(check, work, name):
    (work / name).write_text(BODY)
    report = check([sys.executable, name], "--python", sys.executable, name)
    assert report["run"]["command"] == [sys.executable, name]
    (known,) = [f for f in report["cpu"]["functions"] if f["name"] == "known"]
    assert os.path.basename(known["file"]) == name


def test_a_name_that_begins_with_a_dash(check, work):
    (work / "-odd.py").write_text(BODY)
    check([sys.executable, "./-odd.py"], "--python", sys.executable, "./-odd.py")


def test_the_summary_and_messages_keep_to_one_line_each(inferscope, work):
    (work / "new\nline.py").write_text("")
    done = inferscope("run", "--python", sys.executable, "new\nline.py")
    assert done.returncode == 0
    assert "new?line.py" in done.stderr.splitlines()[0]
    done = inferscope("run", "gone\n\033[31m.py")
    assert done.stderr == "inferscope: cannot read gone??[31m.py: No such file or directory\n"


def test_scripts_in_other_folders(check, work):
    (work / "there").mkdir()
    (work / "there" / "helper.py").write_text("HELP = 5\n")
    (work / "there" / "script.py").write_text("import helper\n" + BODY)
    (work / "link.py").symlink_to("there/script.py")
    for path in ("there/script.py", "./there/../there/script.py", str(work / "there/script.py"),
                 "link.py"):
        check([sys.executable, path], "--python", sys.executable, path)


@pytest.mark.parametrize("words", [["x" * 100000], [str(n) for n in range(20000)]],
                         ids=["one word", "many words"])
def test_100_kilobytes_of_arguments(check, work, words):
    (work / "script.py").write_text(BODY)
    report = check([sys.executable, "script.py"] + words, "--python", sys.executable, "script.py",
                   *words)
    told = report["run"]["command"][2:]
    assert told == words[:len(told)]
    assert len("".join(told)) > 10000


def test_python_options_of_run_are_explained(refused):
    assert refused("run", "-m", "pkg") == \
        "unknown option '-m'; did you mean 'run -- python3 -m ...'?"


def test_commands_that_are_none(refused, work, package):
    assert refused("run", "--", "./pkg", status=126) == "cannot run ./pkg: not executable"
    assert refused("run", "--", "", status=127) == "cannot run : not found"
    tool = executable(work / "tool", "#!/nope/python\n")
    line = refused("run", "--", tool, status=127)
    assert line == "cannot run ./tool: No such file or directory"


def test_a_program_in_the_working_directory_through_an_empty_path_entry(inferscope, work):
    executable(work / "tool", "#!/bin/sh\nexit 4\n")
    done = inferscope("run", "--quiet", "--", "tool", env={"PATH": ":/nope"})
    assert done.returncode == 4
