"""Every way to start a Python: it does what it does alone, is recorded, and sees the same world."""

import json
import os
import shutil
import subprocess
import zipapp

import pytest

BODY = """\
import os, sys
def known():
    return sys.argv[1:], __name__, __debug__, sys.flags.optimize, sys.warnoptions
print(known(), os.environ.get("MINE"))
"""


@pytest.fixture
def check(inferscope, work, clean_env):
    """Runs a command alone and recorded: both do the same, and known() is called once."""
    def check(*command, env=None, stdin=b"", ours=lambda line: False, calls=1):
        command = [str(word) for word in command]
        alone = subprocess.run(command, cwd=str(work), env={**clean_env, **(env or {})},
                               input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        done = inferscope("run", "--quiet", "--max-overhead", "100", "--report", "r.json", "--",
                          *command, env=env, text=False, stdin=None, input=stdin)
        assert (done.returncode, done.stdout) == (alone.returncode, alone.stdout)
        assert [line for line in done.stderr.splitlines() if not ours(line)] == \
            [line for line in alone.stderr.splitlines() if not ours(line)]
        report = json.loads((work / "r.json").read_text())
        assert sum(f["calls"] for f in report["cpu"]["functions"]
                   if f["name"] == "known") == calls
        return done
    return check


@pytest.fixture
def package(work):
    (work / "pkg").mkdir()
    (work / "pkg" / "__init__.py").write_text("")
    (work / "pkg" / "__main__.py").write_text(BODY)
    (work / "script.py").write_text(BODY)
    return work


def test_what_can_be_started(python, check, package):
    zipapp.create_archive(str(package / "pkg"), str(package / "app.pyz"), interpreter=python)
    tool = package / "tool"
    tool.write_text("#!%s\n%s" % (python, BODY))
    tool.chmod(0o755)
    check(python, "script.py", "a")
    check(python, "-m", "pkg", "a")
    check(python, "-c", BODY, "a")
    check(python, "-", "a", stdin=BODY.encode())
    check(python, stdin=BODY.encode())
    check(python, "app.pyz", "a")
    check("./app.pyz", "a")
    check("./tool", "a")


def test_options_of_python(python, version, check, package):
    check(python, "-W", "error", "-OO", "-B", "-b", "-s", "-u", "script.py")
    check(python, "-X", "dev", "-X", "utf8", "script.py")
    check(python, "-X", "importtime", "script.py", ours=lambda line: b"import time:" in line)
    if version >= (3, 11):
        check(python, "-P", "-m", "pkg", env={"PYTHONPATH": str(package)})
        check(python, "script.py", env={"PYTHONSAFEPATH": "1"})


def test_where_the_interpreter_lies(python, check, package, tmp_path):
    """A link to it, a virtual environment, one beside the tool that uses it, as pipx makes them."""
    (package / "linked").symlink_to(python)
    check("./linked", "script.py")
    venv = tmp_path / "venv"
    subprocess.run([python, "-m", "venv", "--without-pip", str(venv)], check=True)
    check(venv / "bin" / "python3", "script.py")
    site, = (venv / "lib").glob("python*/site-packages")
    shutil.copytree(str(package / "pkg"), str(site / "installed"))
    tool = venv / "bin" / "tool"
    tool.write_text("#!%s\nimport runpy\nrunpy.run_module('installed', run_name='__main__')\n"
                    % (venv / "bin" / "python3"))
    tool.chmod(0o755)
    (package / "bin").mkdir()
    (package / "bin" / "tool").symlink_to(tool)
    check("tool", "a", env={"PATH": "%s:%s" % (package / "bin", os.environ["PATH"])})


def test_the_distributions_python(check, package):
    if not os.path.exists("/usr/bin/python3"):
        pytest.skip("no /usr/bin/python3")
    check("/usr/bin/python3", "-c", BODY + "import sys\n"
          "print(getattr(sys.modules.get('sitecustomize'), '__file__', None))\n")


def test_folders_that_cannot_be_written(python, binary, clean_env, package, tmp_path):
    """No compiled file can be left beside the interpreter's modules, nor beside ours."""
    stage, venv = tmp_path / "stage", tmp_path / "venv"
    shutil.copytree(os.path.dirname(os.path.dirname(binary)), str(stage),
                    ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([python, "-m", "venv", "--without-pip", str(venv)], check=True)
    script = 'for d in "$0" "$1"; do mount --bind "$d" "$d" && mount -o remount,ro,bind "$d" ' \
        '|| exit 99; done; "$0/bin/inferscope" run --quiet --python "$1/bin/python" script.py a'
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script, str(stage), str(venv)],
                          cwd=str(package), env=clean_env, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True)
    if done.returncode == 99 or "unshare" in done.stderr:
        pytest.skip("cannot make a folder read-only here: %s" % done.stderr.strip())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("(['a'], ")


def test_every_customisation_runs_once(python, check, package, tmp_path):
    """The user's sitecustomize and usercustomize, and PYTHONSTARTUP of an interactive session."""
    # A virtual environment has no folder of the user: ask the interpreter below it.
    python, user = subprocess.check_output(
        [python, "-c", "import site, sys; print(getattr(sys, '_base_executable', sys.executable));"
         "print(site.getusersitepackages())"],
        env={**os.environ, "PYTHONUSERBASE": str(tmp_path / "user")},
        universal_newlines=True).splitlines()
    folders = {"sitecustomize": package / "own", "usercustomize": user,
               "startup": package / "start"}
    for name, folder in folders.items():
        os.makedirs(str(folder), exist_ok=True)
        with open(os.path.join(str(folder), name + ".py"), "w") as file:
            file.write("import sys\nsys.stdout.write('%s runs\\n')\n" % name)
    env = {"PYTHONPATH": str(package / "own"), "PYTHONUSERBASE": str(tmp_path / "user"),
           "PYTHONSTARTUP": str(package / "start" / "startup.py")}
    done = check(python, "script.py", env=env)
    assert [done.stdout.count(b"%s runs" % name.encode()) for name in sorted(folders)] == [1, 0, 1]
    done = check(python, "-i", "-q", env=env, calls=0, stdin=b"2 + 2\n")
    assert [done.stdout.count(b"%s runs" % name.encode()) for name in sorted(folders)] == [1, 1, 1]


WORLD = """
import json, os, sys
modules = sorted(sys.modules)
json.dump({"env": dict(os.environ), "path": sys.path, "modules": modules,
           "flags": str(sys.flags), "argv": sys.argv, "cached": sorted(sys.path_importer_cache),
           "orig_argv": getattr(sys, "orig_argv", None), "hooks": len(sys.path_hooks),
           "finders": len(sys.meta_path), "warnings": sys.warnoptions}, sys.stdout)
"""


@pytest.mark.parametrize("own", [None, "own", "own::other"])
def test_the_differences_that_a_program_can_see(python, inferscope, clean_env, work, package,
                                                binary, write, own):
    """All of them; docs/USAGE.md lists the same."""
    home = os.path.join(os.path.dirname(os.path.dirname(binary)), "lib", "inferscope")
    shim, python_path = os.path.join(home, "shim"), os.path.join(home, "python")
    env = {} if own is None else {"PYTHONPATH": own}
    write(WORLD)
    alone = json.loads(subprocess.check_output([python, "program.py", "x"], cwd=str(work),
                                               env={**clean_env, **env}))
    done = inferscope("run", "--quiet", "--", python, "program.py", "x", env=env)
    assert (done.returncode, done.stderr) == (0, "")
    seen = json.loads(done.stdout)
    assert {name for name in seen if seen[name] != alone[name]} == \
        {"env", "path", "modules", "cached"}
    assert seen["path"] == alone["path"] + [python_path]
    assert set(seen["modules"]) - set(alone["modules"]) <= {"gc", "inferscope", "inferscope._agent"}
    assert set(alone["modules"]) <= set(seen["modules"])
    assert set(seen["cached"]) - set(alone["cached"]) == \
        {shim, python_path, os.path.join(python_path, "inferscope")}
    ours = {"INFERSCOPE_SESSION", "INFERSCOPE_AGENT", "CUDA_INJECTION64_PATH",
            "NVTX_INJECTION64_PATH", "PYTHONPATH"}
    assert ours - set(seen["env"]) == set()
    assert {k: v for k, v in seen["env"].items() if k not in ours} == \
        {k: v for k, v in alone["env"].items() if k not in ours}
    assert seen["env"]["PYTHONPATH"].split(":") == \
        [shim, python_path] + (own.split(":") if own else [])


AGENTS = """\
import inferscope
with inferscope.scope("mine"):
    print(sorted({line.split()[-1] for line in open("/proc/self/maps") if "_agent." in line}))
"""


def test_another_copy_of_the_package_does_not_bring_another_agent(python, binary, inferscope, write,
                                                                  work, tmp_path):
    """As with an inferscope in the workload's venv: both would write into the same recording."""
    ours = os.path.join(os.path.dirname(os.path.dirname(binary)), "lib", "inferscope", "python")
    copy = tmp_path / "copy"
    shutil.copytree(ours, str(copy))
    write(AGENTS, "w.py")
    done = inferscope("run", "--quiet", "--report", "r.json", "--python", python, "w.py",
                      env={"PYTHONPATH": str(copy)})
    assert done.stdout == "%s\n" % [os.path.join(ours, "inferscope", "_agent.abi3.so")]
    report = json.loads((work / "r.json").read_text())
    assert [step["name"] for step in report["steps"]] == ["mine"]


def test_a_package_that_only_bears_our_name_is_the_workloads(python, inferscope, write, work,
                                                             tmp_path):
    (tmp_path / "inferscope.py").write_text("whose = 'mine'\n")
    write("import inferscope\nprint(inferscope.whose)\n", "w.py")
    done = inferscope("run", "--quiet", "--report", "r.json", "--python", python, "w.py",
                      env={"PYTHONPATH": str(tmp_path)})
    assert (done.returncode, done.stdout) == (0, "mine\n")
    notes = json.loads((work / "r.json").read_text())["trust"]["notes"]
    assert [note for note in notes if "the agent could not be loaded" in note]


def test_subinterpreters_run_as_they_do_alone(python, plain, inferscope, write, work):
    program = write("""
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        def known(): pass
        known()
        for _ in range(3):
            inner = interpreters.create()
            interpreters.run_string(inner, "def f(n): return n and f(n - 1)\\nf(9)\\n"
                                    "print('well', flush=True)")
            interpreters.destroy(inner)
        known()
    """)
    done = inferscope("run", "--quiet", "--max-overhead", "100", "--report", "r.json", "--python",
                      python, program)
    assert (done.returncode, done.stdout) == (0, plain(python, program).stdout)
    report = json.loads((work / "r.json").read_text())
    assert sum(f["calls"] for f in report["cpu"]["functions"] if f["name"] == "known") == 2
    told, = [note for note in report["trust"]["notes"] if "interpreter" in note]
    assert told.endswith("Python code of its subinterpreters is not recorded")


@pytest.mark.parametrize("mode", ["auto", "trace"])
def test_our_own_start_up_is_in_no_list(python, inferscope, package, mode):
    """A short program, in which it would be the hottest function and the first cause."""
    done = inferscope("run", "--cpu", mode, "--max-overhead", "100", "--report", "r.json",
                      "--report", "r.md", "--report", "r.html", "--", python, "script.py")
    assert done.returncode == 0, done.stderr
    report = json.loads((package / "r.json").read_text())
    assert any(f["name"] == "known" for f in report["cpu"]["functions"])
    shown = [done.stdout, done.stderr] + [(package / name).read_text()
                                          for name in ("r.json", "r.md", "r.html")]
    for text in shown:
        assert "_start_inferscope" not in text
        assert "_hand_over" not in text
        assert "shim/sitecustomize.py" not in text
