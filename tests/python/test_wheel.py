"""`pip install` of the checkout: one wheel for every Python, complete and relocatable."""

import json
import os
import subprocess
import sys
import zipfile

import pytest

pytestmark = pytest.mark.long  # a build, and virtual environments

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PYTHONS = [p for p in os.environ.get("INFERSCOPE_PYTHONS", sys.executable).split(":") if p]
# The oldest and the newest hook Python in different ways.
CHOSEN = sorted({PYTHONS[0], PYTHONS[-1]})

SCRIPT = """\
import inferscope

def work(n):
    return sum(range(n))

with inferscope.scope("step"):
    work(1000)
print("recording" if inferscope.is_recording() else "idle")
"""


def call(*command, cwd, env=(), status=0):
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith(("INFERSCOPE_", "XDG_", "PYTHON"))}
    clean["HOME"] = str(cwd)
    done = subprocess.run([str(word) for word in command], cwd=str(cwd), env={**clean, **dict(env)},
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, timeout=300)
    assert done.returncode == status, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built as `pip install .` builds it; skipped where its tools cannot be had."""
    folder = tmp_path_factory.mktemp("wheel")
    probe = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d",
                            str(folder / "backend"), "scikit-build-core>=0.8"],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           universal_newlines=True)
    if probe.returncode:
        why = probe.stdout.strip().splitlines()[-1:]
        pytest.skip("pip cannot get scikit-build-core: %s" % " ".join(why))
    built = subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps",
                            "--config-settings=build-dir=%s" % (folder / "build"),
                            "-w", str(folder / "dist"), ROOT],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           universal_newlines=True, timeout=600)
    assert built.returncode == 0, built.stdout
    (path,) = (folder / "dist").glob("*.whl")
    return path


@pytest.fixture(scope="module", params=CHOSEN)
def venv(request, wheel, tmp_path_factory):
    """A virtual environment with the wheel in it; its folder of programs."""
    folder = tmp_path_factory.mktemp("venv")
    call(request.param, "-m", "venv", folder, cwd=folder)
    call(folder / "bin" / "python", "-m", "pip", "install", "-q", "--no-index", "--no-deps",
         "--disable-pip-version-check", wheel, cwd=folder)
    return folder / "bin"


@pytest.fixture
def work(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    return tmp_path


def steps(report):
    return [(step["name"], step["count"]) for step in json.loads(report.read_text())["steps"]]


def test_one_wheel_for_every_python(wheel):
    assert wheel.name.startswith("inferscope-") and "-py3-none-linux_" in wheel.name
    names = set(zipfile.ZipFile(str(wheel)).namelist())
    assert {"inferscope/__init__.py", "inferscope/__init__.pyi", "inferscope/py.typed",
            "inferscope/_agent.abi3.so", "inferscope/bin/inferscope",
            "inferscope/shim/sitecustomize.py", "inferscope.pth"} <= names
    assert not [name for name in names if name.startswith(("tests/", "src/", "shim/"))]


def test_import_outside_a_recording_is_silent(venv, work):
    done = call(venv / "python", "script.py", cwd=work)
    assert (done.stdout, done.stderr) == ("idle\n", "")
    assert not (work / "inferscope-report.md").exists()


def test_run(venv, work):
    done = call(venv / "inferscope", "run", "--quiet", "--report", "r.json", "--python",
                venv / "python", "script.py", cwd=work)
    assert (done.stdout, done.stderr) == ("recording\n", "")
    assert steps(work / "r.json") == [("step", 1)]


@pytest.mark.parametrize("other", CHOSEN)
def test_run_with_a_python_that_does_not_have_the_wheel(venv, work, other):
    (work / "paths.py").write_text(SCRIPT + "import sys; print(sys.path[1:])\n")
    alone = call(other, "-c", "import sys; print(sys.path[1:])", cwd=work)
    done = call(venv / "inferscope", "run", "--quiet", "--report", "r.json", "--python", other,
                "paths.py", cwd=work)
    assert done.stdout == "recording\n" + alone.stdout
    assert steps(work / "r.json") == [("step", 1)]


def test_enable_records_without_run(venv, work):
    done = call(venv / "python", "script.py", cwd=work,
                env={"INFERSCOPE_ENABLE": "1", "INFERSCOPE_REPORT": "r.json"})
    assert done.stdout == "recording\n"
    assert steps(work / "r.json") == [("step", 1)]


def test_enable_does_not_record_the_launcher(venv, work):
    done = call(venv / "inferscope", "--version", cwd=work, env={"INFERSCOPE_ENABLE": "1"})
    assert done.stdout.startswith("inferscope ") and done.stderr == ""
    done = call(venv / "inferscope", "run", "--quiet", "--report", "r.json", "--python",
                venv / "python", "script.py", cwd=work, env={"INFERSCOPE_ENABLE": "1"})
    assert (done.stdout, done.stderr) == ("recording\n", "")
    assert sorted(p.name for p in work.iterdir()) == ["inferscope-trace.isc", "r.json", "script.py"]


def test_start_and_stop(venv, work):
    done = call(venv / "python", "-c", "import inferscope; inferscope.start('r.json');"
                "exec(open('script.py').read()); print(inferscope.stop())", cwd=work)
    assert done.stdout == "recording\n['r.json']\n"
    assert steps(work / "r.json") == [("step", 1)]


def test_uninstalling_leaves_nothing(venv, work):
    call(venv / "python", "-m", "pip", "uninstall", "-q", "-y", "--disable-pip-version-check",
         "inferscope", cwd=work)
    # pip leaves what other Pythons have compiled, as with every package.
    left = [path for path in venv.parent.rglob("*")
            if "inferscope" in str(path.relative_to(venv.parent)) and path.is_file()
            and path.suffix != ".pyc"]
    assert left == []
