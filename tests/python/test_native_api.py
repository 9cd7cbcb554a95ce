"""include/inferscope.h: native programs with nothing but the header, recorded or not."""

import os
import shutil
import subprocess

import pytest

STRICT = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Werror"]
C_STRICT = STRICT + ["-Wstrict-prototypes", "-Wmissing-prototypes"]
CXX_STRICT = STRICT + ["-Wold-style-cast"]


def compiler(name):
    if not shutil.which(name):
        pytest.skip("no %s" % name)
    return name


@pytest.fixture(scope="session")
def build(root, tmp_path_factory):
    """Compiles a program with the header alone; built once for each set of words."""
    folder = tmp_path_factory.mktemp("native")
    built = {}

    def compile(name, *words, cc="cc", out=None):
        key = (name, cc) + words
        if key not in built:
            path = str(folder / (out or "%s-%d" % (os.path.basename(name), len(built))))
            subprocess.run([compiler(cc), "-O1", "-g", "-I", os.path.join(root, "include"),
                            os.path.join(root, name), "-o", path, "-pthread", *words], check=True)
            built[key] = path
        return built[key]
    return compile


@pytest.fixture
def record_native(inferscope, read_trace):
    def run(*command, status=0, stdout=None, env=None, options=()):
        done = inferscope("run", "--quiet", "--report", "r.json", "--trace", "t.isc", *options,
                          "--", *command, env=env)
        assert (done.returncode, done.stderr) == (status, "")
        if stdout is not None:
            assert done.stdout == stdout
        recording = read_trace("t.isc", done)
        assert recording.head["notes"] == []
        assert [thread["lost"] for thread in recording.threads] == [0] * len(recording.threads)
        return recording
    return run


def alone(path, *args, **env):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("INFERSCOPE_")}
    return subprocess.run([path, *args], env={**clean, **env}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True, timeout=240)


@pytest.mark.parametrize("cc, standards, strict", [
    ("gcc", ["c99", "gnu17"], C_STRICT), ("clang", ["c99", "c17"], C_STRICT),
    ("g++", ["c++11", "c++20"], CXX_STRICT), ("clang++", ["c++11", "c++17"], CXX_STRICT)])
def test_the_header_is_clean_in_every_language(root, tmp_path, cc, standards, strict):
    compiler(cc)
    language = "c++" if cc.endswith("++") else "c"
    source = os.path.join(root, "tests/native", "annotated.cpp" if language == "c++"
                          else "annotated_life.c")
    for words in [["-std=" + standard] for standard in standards] + [["-DINFERSCOPE_DISABLE"]]:
        subprocess.run([cc, "-x", language, *words, *strict, "-c", "-I",
                        os.path.join(root, "include"), source, "-o", str(tmp_path / "x.o")],
                       check=True)


def test_nothing_is_linked_and_nothing_happens_without_a_recording(build):
    path = build("tests/native/annotated_life.c", "-Wl,--no-undefined")
    needed = subprocess.run(["ldd", path], stdout=subprocess.PIPE, check=True).stdout.decode()
    assert "inferscope" not in needed and "_agent" not in needed
    done = alone(path)
    assert (done.returncode, done.stdout) == (0, "0\n")
    loaded = alone(path, LD_DEBUG="files").stdout
    assert "libc.so.6" in loaded and "_agent" not in loaded


@pytest.mark.parametrize("env", [
    {"INFERSCOPE_SESSION": "1.2.3.abc"},
    {"INFERSCOPE_SESSION": "1.2.3.abc", "INFERSCOPE_AGENT": "/nowhere/agent.so"},
    {"INFERSCOPE_SESSION": "1.2.3.abc", "INFERSCOPE_AGENT": "libm.so.6"},
    {"INFERSCOPE_SESSION": "", "INFERSCOPE_AGENT": ""},
])
def test_an_environment_that_leads_nowhere_is_harmless(build, env):
    done = alone(build("tests/native/annotated_life.c"), **env)
    assert (done.returncode, done.stdout) == (0, "0\n")


def test_a_session_that_is_over_is_harmless(build, package):
    done = alone(build("tests/native/annotated_life.c"), INFERSCOPE_SESSION="999999.3.4.abc",
                 INFERSCOPE_AGENT=package + "/inferscope/_agent.abi3.so")
    assert (done.returncode, done.stdout) == (0, "0\n")


def test_the_example_is_recorded(build, record_native, report):
    path = build("examples/native_server.c", "-std=c99", *C_STRICT)
    assert alone(path).stdout == "200 requests\n"
    recording = record_native(path, stdout="200 requests\n")
    steps = {step["name"]: step for step in report()["steps"]}
    assert (steps["request"]["count"], steps["request"]["depth"]) == (200, 0)
    assert (steps["layer"]["count"], steps["layer"]["depth"]) == (1600, 1)
    (queue,) = report()["cpu"]["counters"]
    assert (queue["name"], queue["min"], queue["max"], queue["last"]) == ("queue", 0, 199, 0)
    assert queue["count"] == 202
    assert report()["cpu"]["marks"] == [{"name": "worker done", "count": 2}]
    assert [t["name"] for t in recording.threads] == ["worker", "worker"]
    assert report()["run"]["python"] is None


@pytest.mark.parametrize("sanitizer", [[], ["-fsanitize=address,undefined"], ["-fsanitize=thread"]],
                         ids=["plain", "asan", "tsan"])
def test_cxx_guards_and_two_files_of_one_program(build, record_native, root, sanitizer):
    part = build("tests/native/annotated_part.c", "-c", *sanitizer, out="part%d.o" % len(sanitizer)
                 if not sanitizer else "part-%s.o" % sanitizer[0][-6:])
    path = build("tests/native/annotated.cpp", part, "-std=c++11", *sanitizer, cc="g++")
    assert alone(path).stdout == "0 3\n"
    recording = record_native(path, stdout="1 3\n")
    scopes = {}
    for enter, leave in recording.scopes():
        scopes.setdefault(enter["name"], []).append((enter, leave))
    assert {name: len(found) for name, found in scopes.items()} == {
        "whole": 1, "throws": 1, "built name 0": 2, "built name 1": 2, "handed over": 1,
        "part": 1, "turn": 3}
    ((enter, leave),) = scopes["handed over"]
    assert enter["tid"] != leave["tid"]
    ((_, threw),), (caught,) = scopes["throws"], recording.of("instant", "caught")
    assert threw["start_us"] <= caught["start_us"]
    assert [c["value"] for c in recording.of("counter", "depth")] == [0, 1, 2, 3]
    assert "other" in [thread["name"] for thread in recording.threads]


def test_forked_children_are_processes_of_their_own(build, record_native):
    recording = record_native(build("tests/native/annotated_life.c"), "fork")
    assert len(recording.processes) == 2
    parent, child = (p["pid"] for p in recording.processes)
    assert [len([s for s, _ in recording.scopes() if (s["pid"], s["name"]) == key])
            for key in ((parent, "parent"), (child, "child"))] == [4, 2]


def test_what_a_child_becomes_is_recorded(build, record_native):
    recording = record_native(build("tests/native/annotated_life.c"), "exec")
    assert len(recording.scopes("leaf")) == 5
    assert {s["pid"] for s, _ in recording.scopes("leaf")} != \
        {s["pid"] for s, _ in recording.scopes("parent")}


@pytest.mark.parametrize("sanitizer", [[], ["-fsanitize=thread"]], ids=["plain", "tsan"])
def test_threads_at_once_have_instances_of_their_own(build, record_native, sanitizer):
    recording = record_native(build("tests/native/annotated_life.c", *sanitizer), "threads")
    assert len(recording.scopes("threaded")) == 8000
    assert len(recording.threads) == 8


def test_many_names_are_all_there(build, record_native, report):
    record_native(build("tests/native/annotated_life.c"), "names")
    assert report()["cpu"]["mark_count"] == 80000
    assert report()["trust"]["unknown_names"] == 0


def test_odd_arguments(build, record_native):
    recording = record_native(build("tests/native/annotated_life.c"), "nulls")
    assert [s["name"] for s, _ in recording.scopes()] == [""]
    assert [m["name"] for m in recording.of("instant")] == [""]
    own = [c for c in recording.of("counter") if "tid" in c]  # the others are the recorder's
    assert [c["value"] for c in own] == [None, None, -0.5]
    (thread,) = recording.threads
    assert thread["name"] == "a name of more than sixty-three bytes, which is more than there"


def test_a_static_program_is_left_alone(build, inferscope, read_trace):
    try:
        path = build("tests/native/annotated_life.c", "-static", "-Wl,--no-warnings")
    except subprocess.CalledProcessError:
        pytest.skip("no static libc")
    done = inferscope("run", "--quiet", "--trace", "t.isc", "--", path)
    assert (done.returncode, done.stdout) == (0, "0\n")
    assert read_trace("t.isc").processes == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a setuid program")
def test_a_setuid_program_ignores_the_environment(build, inferscope, tmp_path, let_all_in):
    if not shutil.which("setpriv"):
        pytest.skip("no setpriv")
    path = str(tmp_path / "setuid")
    shutil.copy(build("tests/native/annotated_life.c"), path)
    os.chmod(path, 0o4755)
    let_all_in(tmp_path)
    ask = ["setpriv", "--reuid", "65534", "--clear-groups", path]
    if subprocess.run(ask, stdout=subprocess.DEVNULL).returncode:
        pytest.skip("another user cannot run programs in %s" % tmp_path)
    done = inferscope("run", "--quiet", "--", *ask)
    assert (done.returncode, done.stdout) == (0, "0\n")


MIXED = """
import ctypes
from inferscope import counter, scope

library = ctypes.CDLL(%r)

def handle():
    with scope("request"):
        library.annotated_part(2)

for i in range(3):
    handle()
    counter("turns", 10 + i)
"""


def test_native_scopes_nest_inside_those_of_python(build, record, report, python):
    library = build("tests/native/annotated_part.c", "-shared", "-fPIC")
    recording = record(python, MIXED % library)
    assert [(s["name"], s["count"], s["depth"]) for s in report()["steps"]] == [
        ("request", 3, 0), ("part", 3, 1), ("turn", 6, 2)]
    assert len(recording.processes) == 1
    # One name with two ids: what Python and C count is one series.
    (turns,) = report()["cpu"]["counters"]
    assert (turns["count"], turns["min"], turns["max"], turns["last"]) == (9, 0, 12, 12)


def test_start_reaches_libraries_loaded_after_it_and_those_that_look_again(
        build, plain, python, work, read_trace):
    library = build("tests/native/annotated_part.c", "-shared", "-fPIC")
    second = str(work / "second.so")
    shutil.copy(library, second)
    (work / "program.py").write_text("""
import ctypes, os, inferscope
early = ctypes.CDLL(%r)
assert early.annotated_attach() == 0
inferscope.start(trace="t.isc")
late = ctypes.CDLL(%r)
early.annotated_part(1)            # not seen: it was loaded before
late.annotated_part(2)
assert early.annotated_attach() == 1
early.annotated_part(4)
inferscope.stop()
assert "INFERSCOPE_AGENT" not in os.environ
late.annotated_part(8)
inferscope.start(trace="t2.isc")
early.annotated_part(16)
inferscope.stop()
""" % (library, second))
    done = plain(python, "program.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(read_trace("t.isc").scopes("turn")) == 6
    assert len(read_trace("t2.isc").scopes("turn")) == 16


def test_a_native_program_with_a_python_inside(build, record_native, python, version):
    where = subprocess.run([python, "-c", "import sys, sysconfig as s; print(s.get_config_var("
                            "'LIBDIR'), s.get_config_var('LDLIBRARY'), sys.base_prefix, sep='|')"],
                           stdout=subprocess.PIPE, universal_newlines=True).stdout.strip()
    folder, name, prefix = where.split("|")
    libpython = os.path.join(folder, name)
    if ".so" not in name or not os.path.exists(libpython):
        pytest.skip("%s has no shared libpython" % python)
    recording = record_native(
        build("tests/native/embeds_python.c"), libpython,
        "def f():\n    return 1\nfor i in range(7):\n    f()\n", env={"PYTHONHOME": prefix})
    assert len(recording.scopes("native start")) == 1
    assert len(recording.of("instant", "python ran")) == 1
    assert len(recording.of("cpu_function", "f")) == 7
    assert len(recording.processes) == 1


def test_a_recording_that_begins_later(build, record_native):
    path = build("tests/native/annotated_life.c")
    recording = record_native(path, "wait", options=("--delay", "0.5"))
    assert [enter["name"] for enter, _ in recording.scopes()] == ["late"] * 4
