"""profile(), the magics of IPython and the pytest plugin."""

import json
import os
import subprocess
import sys

import pytest

PROGRAM = """
    import inferscope, json, os
    def work(n):
        return sum(i * i for i in range(n))
    with inferscope.profile({settings}) as p:
        for _ in range(20):
            with inferscope.scope("step <b>"):
                work(5000)
    {then}
"""


@pytest.fixture
def profiled(plain, write):
    """Runs PROGRAM, then what is given; returns its standard output."""
    def run(python, then, settings="", work=None):
        write(PROGRAM.format(settings=settings, then=then))
        done = plain(python, "program.py")
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout
    return run


def test_results_are_an_object(python, profiled):
    out = json.loads(profiled(python, """
    print(json.dumps([p.steps[0]["count"], p.steps[0]["name"], p.data["inferscope"]["schema"],
                      [f["name"] for f in p.functions], p.kernels, p.layers, p.copies,
                      p.verdict["bound"], len(p.findings) == len(p.data["findings"])]))
    """))
    assert out[:3] == [20, "step <b>", 1]
    assert "work" in out[3]
    assert out[4:] == [[], [], [], "cpu", True]


def test_reports_of_a_profile(python, profiled, work):
    out = profiled(python, """
    p.to_html("p.html"); p.to_json("p.json"); p.to_markdown("p.md")
    assert p.to_markdown() == open("p.md").read()
    assert json.load(open("p.json")) == p.data
    assert "<b>" not in p._repr_html_().replace("<p><b>", "").replace("<br>", "")
    assert repr(p).startswith("<inferscope.Profile: 20 x step")
    print(p.report())
    """, settings='report="own.json"')
    assert "step <b>" in out and out.startswith("inferscope  ")
    assert (work / "p.html").read_text().startswith("<!DOCTYPE html>")
    assert json.loads((work / "own.json").read_text())["steps"][0]["count"] == 20


def test_the_trace_goes_with_the_profile(python, profiled, work):
    out = profiled(python, """
    path = p.trace
    assert os.path.exists(path)
    del p
    assert not os.path.exists(path)
    with inferscope.profile(trace="kept.isc"):
        pass
    print(os.path.exists("kept.isc"))
    """)
    assert out == "True\n"


def test_a_profile_without_results_says_so(python, plain, write):
    write("""
        import inferscope
        p = inferscope.profile()
        print(repr(p))
        try:
            p.findings
        except RuntimeError as error:
            print(error)
        try:
            with p:
                raise KeyError("of the block")
        except KeyError as error:
            print(error)
        print(p.verdict["bound"] in ("cpu", "unknown"))
        try:
            with p:
                pass
        except RuntimeError as error:
            print(error)
    """)
    done = plain(python, "program.py")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "<inferscope.Profile: no results yet>"
    assert lines[1].startswith("the profile has no results: its block has not ended")
    assert lines[2:] == ["'of the block'", "True",
                         "a profile records one block only: call profile() again"]


def test_options_of_the_magic(python, plain, write):
    write("""
        from inferscope._magic import split_options
        print(split_options("--cpu sample --no-gpu --as p --report=a.md --ring"))
        for line in ("x", "--as 1", "--as"):
            try:
                split_options(line)
            except ValueError as error:
                print(str(error).split(";")[0])
    """)
    done = plain(python, "program.py")
    assert done.stdout.splitlines() == [
        "({'cpu': 'sample', 'gpu': False, 'report': 'a.md', 'ring': True}, 'p')",
        "'x' is not an option", "--as needs the name of a variable",
        "--as needs the name of a variable"], done.stderr


SHELL = """
    import sys, types

    class Shell:  # of IPython's, what the magic uses
        user_ns = {}
        def run_cell(self, code):
            exec(code, self.user_ns)
            return types.SimpleNamespace(success=True)
        def register_magic_function(self, function, magic_kind, magic_name):
            assert (magic_kind, magic_name) == ("line_cell", "inferscope")
            self.magic = function

    shown = []
    ipython = types.ModuleType("IPython")
    ipython.display = types.ModuleType("IPython.display")
    ipython.display.display = shown.append
    sys.modules["IPython"], sys.modules["IPython.display"] = ipython, ipython.display
    import inferscope
    shell = Shell()
    inferscope.load_ipython_extension(shell)
    shell.magic("--as p", "import inferscope\\nwith inferscope.scope('cell'): x = 1")
    print(shell.user_ns["p"].steps[0]["name"], shell.user_ns["x"], shown == [shell.user_ns["p"]])
    shell.magic("y = 2")
    print(shell.user_ns["y"], len(shown))
"""


def test_the_magic_records_a_cell(python, plain, write):
    write(SHELL)
    done = plain(python, "program.py")
    assert (done.stdout, done.stderr) == ("cell 1 True\n2 2\n", "")


# --- the pytest plugin, in the Python that runs these tests ---

TESTS = """
import pytest
from inferscope import scope

def spin(n):
    return sum(i * i for i in range(n))

def test_a():
    for _ in range(10):
        with scope("step"):
            spin(30000)

@pytest.mark.inferscope(fail_on=[], cpu="sample")
def test_b():
    pass

@pytest.mark.parametrize("n", [1])
def test_c(n, inferscope_profile):
    with inferscope_profile(fail_on=[]) as p:
        with scope("own"):
            spin(1000)
    assert p.steps[0]["name"] == "own"

def test_fails():
    assert 1 == 2
"""


@pytest.fixture
def under_pytest(work, package, clean_env):
    def run(*options):
        (work / "test_it.py").write_text(TESTS)
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "inferscope.pytest_plugin", "-p",
             "no:cacheprovider", "-p", "no:xdist", "-rA", *options], cwd=str(work),
            env={**clean_env, "PYTHONPATH": package}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True,
            timeout=240)
    return run


def test_plugin_records_nothing_unasked(under_pytest):
    done = under_pytest("-k", "test_a")
    assert done.returncode == 0, done.stdout
    assert "InferScope" not in done.stdout


def test_plugin_lists_what_was_found(under_pytest, work):
    done = under_pytest("--inferscope", "--inferscope-reports", "pages")
    assert done.returncode == 1, done.stdout
    assert "1 failed, 3 passed" in done.stdout
    assert "test_it.py::test_a: 10 x step of " in done.stdout
    assert "test_it.py::test_c[1]: 1 x own of " in done.stdout
    assert sorted(os.listdir(str(work / "pages"))) == [
        "test_it.py_test_a.html", "test_it.py_test_b.html", "test_it.py_test_c_1_.html"]


def test_plugin_fails_on_a_finding(under_pytest):
    done = under_pytest("--inferscope", "--inferscope-fail-on", "cpu-preprocessing", "-k",
                        "test_a or test_b")
    assert done.returncode == 1, done.stdout
    assert "InferScope: 1 finding of cpu-preprocessing" in done.stdout
    assert "FAILED test_it.py::test_a" in done.stdout
    assert "PASSED test_it.py::test_b" in done.stdout


def test_plugin_stores_a_baseline(under_pytest, work):
    wrong = under_pytest("--inferscope-update-baseline")
    assert wrong.returncode == 4 and "needs --inferscope-baseline DIR" in wrong.stdout
    done = under_pytest("--inferscope", "--inferscope-baseline", "base", "-k", "test_a")
    assert done.returncode == 0, done.stdout
    assert os.listdir(str(work / "base")) == ["test_it.py_test_a.isc"]
