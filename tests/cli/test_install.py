"""`make install`: the installed tree is complete, and works wherever it is put."""

import json
import os
import shutil
import subprocess
import sys

import pytest

SCRIPT = "import inferscope\nwith inferscope.scope('step'):\n    pass\nprint(inferscope.__file__)\n"


@pytest.fixture(scope="module")
def build(binary):
    """The build directory of the program under test."""
    path = os.path.dirname(os.path.dirname(os.path.dirname(binary)))
    if not os.path.exists(os.path.join(path, "cmake_install.cmake")):
        pytest.skip("%s does not come from a build directory" % binary)
    return path


@pytest.fixture
def staged(build, tmp_path):
    """What a packager gets: prefix /opt/scope under DESTDIR."""
    destdir = tmp_path / "stage"
    subprocess.run(["cmake", "--install", build, "--prefix", "/opt/scope"], check=True,
                   env={**os.environ, "DESTDIR": str(destdir)}, stdout=subprocess.DEVNULL)
    return destdir / "opt" / "scope"


def check_works(prefix, work, env):
    (work / "script.py").write_text(SCRIPT)
    done = subprocess.run([str(prefix / "bin" / "inferscope"), "run", "--quiet", "--no-trace",
                           "--report", "r.json", "--python", sys.executable, "script.py"],
                          cwd=str(work), env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "%s/lib/inferscope/python/inferscope/__init__.py\n" % prefix
    report = json.loads((work / "r.json").read_text())
    assert [(step["name"], step["count"]) for step in report["steps"]] == [("step", 1)]


def test_the_tree_is_complete(staged, build, root):
    found = {str(path.relative_to(staged)) for path in staged.rglob("*") if path.is_file()}
    package = "lib/inferscope/python/inferscope/"
    assert {"bin/inferscope", package + "_agent.abi3.so", package + "__init__.py",
            package + "__init__.pyi", package + "py.typed", "lib/inferscope/shim/sitecustomize.py",
            "include/inferscope.h", "share/inferscope/LICENSE",
            "share/inferscope/schema/report.schema.json",
            "share/inferscope/schema/events.schema.json",
            "share/inferscope/schema/doctor.schema.json", "share/man/man1/inferscope.1",
            "share/man/man1/inferscope-run.1", "share/bash-completion/completions/inferscope",
            "share/zsh/site-functions/_inferscope",
            "share/fish/vendor_completions.d/inferscope.fish"} <= found
    assert {os.path.basename(name) for name in found if name.startswith(package)} == \
        {name for name in os.listdir(os.path.join(root, "python", "inferscope"))
         if name != "__pycache__"} | {"_agent.abi3.so"}
    assert not [name for name in found if "__pycache__" in name]


def test_it_works_outside_the_prefix_it_was_told(staged, work, clean_env):
    check_works(staged, work, clean_env)


def test_it_works_after_being_moved(staged, work, clean_env, tmp_path):
    moved = tmp_path / "moved here, and there"
    os.rename(str(staged), str(moved))
    shutil.rmtree(str(tmp_path / "stage"))
    check_works(moved, work, clean_env)


def test_it_works_through_a_symbolic_link(staged, work, clean_env, tmp_path):
    (tmp_path / "bin").mkdir()
    link = tmp_path / "bin" / "inferscope"
    link.symlink_to(staged / "bin" / "inferscope")
    (work / "script.py").write_text(SCRIPT)
    done = subprocess.run([str(link), "run", "--quiet", "--strict", "--python", sys.executable,
                           "script.py"], cwd=str(work), env=clean_env, stdout=subprocess.PIPE)
    assert done.returncode == 0
    assert str(staged).encode() in done.stdout


def test_start_finds_the_program_of_its_own_tree(staged, work, clean_env):
    done = subprocess.run([sys.executable, "-c", "from inferscope._program import find_program;"
                           "print(find_program())"], cwd=str(work), stdout=subprocess.PIPE,
                          env={**clean_env, "PYTHONPATH": str(staged / "lib/inferscope/python")})
    assert done.stdout.decode() == "%s/bin/inferscope\n" % staged


def test_a_tree_without_its_parts_says_so(staged, work, clean_env):
    shutil.rmtree(str(staged / "lib"))
    (work / "script.py").write_text("open('ran', 'w')\n")
    done = subprocess.run([str(staged / "bin" / "inferscope"), "run", "--python", sys.executable,
                           "script.py"], cwd=str(work), env=clean_env, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True)
    assert done.returncode == 126
    assert done.stderr == "inferscope: the installation is incomplete: " \
        "no start-up shim beside %s/bin\n" % staged
    assert not (work / "ran").exists()
