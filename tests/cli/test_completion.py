"""inferscope completion: shell completions and manual pages from the tables."""

import re
import shutil
import subprocess

import pytest


@pytest.fixture
def out(inferscope):
    def run(*args, status=0):
        done = inferscope("completion", *args)
        assert done.returncode == status, done.stderr
        return done.stdout if not status else done.stderr
    return run


@pytest.fixture
def commands(inferscope):
    """Those that --help lists."""
    text = inferscope("--help").stdout.split("commands:\n")[1].split("\n\n")[0]
    return re.findall(r"^  (\S+) ", text, re.M)


def complete(script, *words):
    """What bash offers for the last of these words."""
    program = script + """
COMP_WORDS=(%s)
COMP_CWORD=%d
_inferscope
printf '%%s\\n' "${COMPREPLY[@]}"
""" % (" ".join("'%s'" % w for w in words), len(words) - 1)
    done = subprocess.run(["bash", "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_bash_completes_commands_options_and_values(out, commands):
    script = out("bash")
    assert set(complete(script, "inferscope", "")) == {"--help", "--version", *commands}
    assert complete(script, "inferscope", "an") == ["analyze"]
    assert complete(script, "inferscope", "run", "--max-o") == ["--max-overhead"]
    assert complete(script, "inferscope", "run", "--cpu", "") == ["auto", "trace", "sample", "off"]
    assert complete(script, "inferscope", "run", "--max-overhead", "") == []
    assert complete(script, "inferscope", "analyze", "--cp") == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_accept_their_script(out, shell, tmp_path):
    script = out(shell)
    assert "max-overhead" in script and "completion" in script
    if not shutil.which(shell):
        pytest.skip("%s is not installed" % shell)
    (tmp_path / "script").write_text(script)
    subprocess.run([shell, "-n", str(tmp_path / "script")], check=True)


def test_options_of_one_letter_have_one_dash(out):
    assert "-s o -r -F" in out("fish") and "-l  " not in out("fish")
    assert ".It Fl o Ar FILE" in out("man", "export")


def test_a_default_is_shown_only_where_it_is_used(out):
    assert r"default: inferscope\-report.md" in out("man", "run")
    assert r"inferscope\-report" not in out("man", "analyze")


def test_manual_pages_are_clean(out, commands, tmp_path):
    pages = {name: out("man", name) for name in commands}
    pages["inferscope"] = out("man")
    for name in commands:
        assert ".It Xr inferscope-%s 1" % name in pages["inferscope"]
        assert pages[name].startswith(".Dd ")
    assert ".It Fl Fl max-overhead Ar PCT" in pages["run"]
    if not shutil.which("mandoc"):
        pytest.skip("mandoc is not installed")
    for name, page in pages.items():
        file = tmp_path / (name + ".1")
        file.write_text(page)
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", str(file)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              universal_newlines=True)
        assert (done.returncode, done.stdout) == (0, "")


def test_usage_errors(out):
    assert "takes bash, zsh, fish or man" in out(status=2)
    assert "takes bash" in out("powershell", status=2)
    assert "no command 'fly'" in out("man", "fly", status=2)
