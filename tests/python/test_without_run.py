"""start(), stop() and INFERSCOPE_ENABLE: a recording without `inferscope run`."""

import json
import shutil
import subprocess
import time

import pytest


@pytest.fixture
def own(plain, write, work):
    """Runs a program that records itself; it must end well and say nothing on standard error."""
    def run(python, text, *args, **more):
        write(text)
        done = plain(python, "program.py", *args, **more)
        assert (done.returncode, done.stderr) == (0, "")
        return done
    return run


def wait_for(path, seconds=10):
    """A recorder that nobody waits for writes its report when it can."""
    end = time.monotonic() + seconds
    while not path.exists() or not path.stat().st_size:
        assert time.monotonic() < end, "no %s" % path
        time.sleep(0.02)


def test_again_and_again_takes_no_room(python, own):
    """Each recording maps a buffer of 100 MB."""
    own(python, """
        import inferscope, os
        def turn():
            inferscope.start("r.json", trace="t.isc")
            inferscope.stop()
        def size():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        turn()
        before = size()
        for _ in range(5):
            turn()
        assert size() - before < 100 << 20, size() - before
    """)


def test_start_and_stop(python, own, work, read_trace):
    done = own(python, """
        import inferscope, json, sys
        def before(): pass
        def during(): pass
        def after(): pass

        assert not inferscope.is_recording()
        before()
        inferscope.start(["r.json", "r.md"], trace="t.isc", trace_size_mb=20)
        assert inferscope.is_recording()
        for _ in range(1000):
            during()
        with inferscope.scope("step"):
            pass
        files = inferscope.stop()
        assert not inferscope.is_recording()
        after()
        with inferscope.scope("too late"):
            pass
        json.dump(files, sys.stdout)
    """)
    assert json.loads(done.stdout) == ["r.json", "r.md"]
    recording = read_trace("t.isc")
    assert {n: len(recording.calls(n)) for n in ("before", "during", "after")} == {
        "before": 0, "during": 1000, "after": 0}
    assert [enter["name"] for enter, _ in recording.scopes()] == ["step"]
    report = json.loads((work / "r.json").read_text())
    assert report["run"]["command"][1:] == ["program.py"]
    assert report["steps"][0]["name"] == "step"
    assert (work / "r.md").read_text().startswith("# InferScope")


def test_names_of_what_was_loaded_before(python, own, read_trace, work):
    """The modules are there before the recording: their functions have their qualified names."""
    (work / "loaded.py").write_text("class Model:\n    def forward(self): return inner()()\n"
                                    "def inner():\n    def deeper(): return 1\n    return deeper\n")
    own(python, """
        import inferscope, loaded
        inferscope.start("r.json", trace="t.isc")
        loaded.Model().forward()
        inferscope.stop()
    """)
    names = [e["name"] for e in read_trace("t.isc").of("cpu_function")
             if e["file"].endswith("loaded.py")]
    assert sorted(names) == ["Model.forward", "inner", "inner.<locals>.deeper"]


def test_the_functions_it_was_started_in_end(python, own, read_trace):
    own(python, """
        import inferscope
        def outer():
            inner()
        def inner():
            inferscope.start("r.json", trace="t.isc")
            leaf()
        def leaf(): pass
        outer()
        leaf()
        inferscope.stop()
    """)
    recording = read_trace("t.isc")
    assert len(recording.calls("leaf")) == 2
    inner, = recording.functions("inner")
    outer, = recording.functions("outer")
    assert inner["depth"] == outer["depth"] + 1 and inner["end_us"] <= outer["end_us"]
    assert "resumed" in inner and "resumed" in outer, "they were not called in the recording"
    first, second = recording.calls("leaf")
    assert (first["depth"], second["depth"]) == (inner["depth"] + 1, outer["depth"])


def test_again_and_again(python, own, read_trace):
    """Names and ids of one recording mean nothing in the next."""
    own(python, """
        import inferscope, threading
        def common(): pass
        def work(i):
            common()
            with inferscope.scope("common"):
                with inferscope.scope("round %d" % i):
                    pass
        go = [threading.Event() for _ in range(3)]
        done = [threading.Event() for _ in range(3)]
        def other():
            for i in range(3):
                go[i].wait()
                common()
                done[i].set()
        thread = threading.Thread(target=other)
        thread.start()
        for i in range(3):
            common()
            inferscope.start("r%d.json" % i, trace="t%d.isc" % i)
            work(i)
            go[i].set(); done[i].wait()
            assert inferscope.stop() == ["r%d.json" % i]
        thread.join()
    """)
    for i in range(3):
        recording = read_trace("t%d.isc" % i)
        assert len(recording.calls("common")) == 2
        assert [enter["name"] for enter, _ in recording.scopes()] == ["common", "round %d" % i]


def test_misuse(python, own, work):
    own(python, """
        import inferscope
        def refused(function, *args, **kwargs):
            try:
                function(*args, **kwargs)
            except RuntimeError as error:
                return str(error)
            raise AssertionError("not refused")

        assert "no recording" in refused(inferscope.stop)
        inferscope.start("r.json", trace=False)
        assert "on already" in refused(inferscope.start)
        assert inferscope.stop() == ["r.json"]
        assert "no recording" in refused(inferscope.stop)
    """)
    assert not (work / "inferscope-trace.isc").exists()


def test_a_wrong_setting_is_told(python, plain, write):
    write("""
        import inferscope
        try:
            inferscope.start(trace_size_mb="many")
        except RuntimeError as error:
            print(error)
        assert not inferscope.is_recording()
    """)
    done = plain(python, "program.py")
    assert done.returncode == 0
    assert done.stdout == "the recorder could not be started: see the message above\n"
    line, = done.stderr.splitlines()
    assert line.startswith("inferscope: ") and "trace" in line and "many" in line


def test_inside_a_run_start_joins_the_recording(python, record, work):
    recording = record(python, """
        import inferscope
        def before(): pass
        def inside(): pass
        def after(): pass
        before()
        inferscope.start("mine.json", trace="mine.isc")
        try:
            inferscope.start()
        except RuntimeError as error:
            assert str(error) == "a recording is on already"
        else:
            raise AssertionError
        inside()
        assert inferscope.stop() == []
        assert inferscope.is_recording()
        after()
        try:
            with inferscope.profile():
                pass
        except RuntimeError as error:
            assert str(error) == "a recording is on already"
        else:
            raise AssertionError
    """, stderr=None, notes=None)
    assert [len(recording.calls(name)) for name in ("before", "inside", "after")] == [1, 1, 1]
    assert any("start() joined this recording" in note for note in recording.head["notes"])
    assert not (work / "mine.json").exists()


@pytest.mark.parametrize("ending", ["pass", "sys.exit(0)", "os._exit(0)"])
def test_the_report_without_a_stop(python, own, work, read_trace, ending):
    own(python, """
        import inferscope, os, sys
        def step(): pass
        inferscope.start("r.json", trace="t.isc")
        for _ in range(10):
            step()
        %s
    """ % ending)
    wait_for(work / "r.json")
    assert len(read_trace("t.isc").calls("step")) == 10


def test_the_program_has_no_child_it_does_not_know_of(python, own):
    own(python, """
        import inferscope, os, signal
        handler = signal.getsignal(signal.SIGCHLD)
        inferscope.start("r.json", trace="t.isc")
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            pass
        else:
            raise AssertionError("a child")
        assert signal.getsignal(signal.SIGCHLD) is handler
        inferscope.stop()
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            pass
        else:
            raise AssertionError("a child")
    """)


def test_a_killed_recorder_does_not_matter(python, own):
    done = own(python, """
        import inferscope, os, signal, time
        def step(): pass
        inferscope.start("r.json", trace="t.isc")
        recorder = int(os.environ["INFERSCOPE_SESSION"].split(".")[0])
        for _ in range(1000):
            step()
        os.kill(recorder, signal.SIGKILL)
        for i in range(200000):
            step()
        assert inferscope.stop() == []
        print("done")
    """)
    assert done.stdout == "done\n"


def test_a_forked_child_may_not_stop_the_recording_of_its_parent(python, own, read_trace):
    own(python, """
        import inferscope, os
        def step(): pass
        inferscope.start("r.json", trace="t.isc")
        pid = os.fork()
        if pid == 0:
            step()
            try:
                inferscope.stop()
            except RuntimeError:
                os._exit(5)
            os._exit(6)
        assert os.waitpid(pid, 0)[1] == 5 << 8
        step()
        assert inferscope.stop() == ["r.json"]
    """)
    assert len(read_trace("t.isc").calls("step")) == 2


@pytest.fixture
def installed(python, tmp_path, package, binary, root):
    """A virtual environment with the package in it, as a wheel would put it there."""
    venv = tmp_path / "venv"
    subprocess.run([python, "-m", "venv", "--without-pip", str(venv)], check=True)
    site, = (venv / "lib").glob("python*/site-packages")
    shutil.copytree(package + "/inferscope", str(site / "inferscope"))
    shutil.copy("%s/python/inferscope.pth" % root, str(site))
    (venv / "bin" / "inferscope").symlink_to(binary)
    return venv / "bin" / "python"


PROGRAM = """
    import inferscope
    def step(): pass
    for _ in range(10):
        step()
    print(inferscope.is_recording())
"""


def run_installed(installed, clean_env, work, *args, **env):
    path = "%s:%s" % (installed.parent, clean_env["PATH"])
    return subprocess.run([str(installed), *args], cwd=str(work), stdin=subprocess.DEVNULL,
                          env={**clean_env, "PATH": path, **env}, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, timeout=60)


def test_enabled_by_the_environment(installed, clean_env, work, write, read_trace):
    write(PROGRAM)
    done = run_installed(installed, clean_env, work, "program.py", INFERSCOPE_ENABLE="1",
                         INFERSCOPE_REPORT="r.json", INFERSCOPE_TRACE="t.isc",
                         INFERSCOPE_QUIET="1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
    wait_for(work / "r.json")
    assert len(read_trace("t.isc").calls("step")) == 10


@pytest.mark.parametrize("value", [None, "0", ""])
def test_not_enabled(installed, clean_env, work, write, value):
    write(PROGRAM)
    env = {} if value is None else {"INFERSCOPE_ENABLE": value}
    done = run_installed(installed, clean_env, work, "program.py", **env)
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\n", "")
    assert [path.name for path in work.iterdir()] == ["program.py"]


def test_children_join_the_recording_of_their_parent(installed, clean_env, work, write, read_trace):
    write("""
        import subprocess, sys
        def step(): pass
        step()
        if len(sys.argv) == 1:
            subprocess.check_call([sys.executable, __file__, "child"])
    """)
    done = run_installed(installed, clean_env, work, "program.py", INFERSCOPE_ENABLE="1",
                         INFERSCOPE_REPORT="r.json", INFERSCOPE_TRACE="t.isc",
                         INFERSCOPE_QUIET="1")
    assert (done.returncode, done.stderr) == (0, "")
    wait_for(work / "r.json")
    assert len({event["pid"] for event in read_trace("t.isc").calls("step")}) == 2


def test_run_records_nothing_when_disabled(python, inferscope, write, work):
    write("import sys; print(len(sys.argv), 'inferscope' in ''.join(sys.path)); sys.exit(3)")
    done = inferscope("run", "--python", python, "program.py", "x", env={"INFERSCOPE_ENABLE": "0"})
    assert (done.returncode, done.stdout, done.stderr) == (3, "2 False\n", "")
    assert [path.name for path in work.iterdir()] == ["program.py"]


@pytest.mark.parametrize("watchers", [7, 8])
def test_names_stay_right_where_other_tools_watch_code_objects_too(
        python, version, own, work, read_trace, watchers):
    if version < (3, 12):
        pytest.skip("there are no watchers before 3.12")
    own(python, """
        import ctypes, inferscope, sys
        watcher = ctypes.CDLL(None).abs  # does nothing, and never says that it failed
        for i in range(int(sys.argv[1])):
            assert ctypes.pythonapi.PyCode_AddWatcher(watcher) == i
        inferscope.start(trace="t.isc")
        addresses = set()
        for i in range(2000):
            names = {}
            exec("def made_%d(): pass" % i, names)
            names["made_%d" % i]()
            addresses.add(id(names["made_%d" % i].__code__))
        assert len(addresses) < 1500, "no address was used twice: this proves nothing"
        inferscope.stop()
    """, str(watchers))
    recording = read_trace("t.isc")
    made = [event["name"] for event in recording.of("cpu_function")
            if event["name"].startswith("made_")]
    assert made == ["made_%d" % i for i in range(2000)]
