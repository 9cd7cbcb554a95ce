"""What a program prints, reads, returns and is killed by is the same with `inferscope run`."""

import json
import os
import signal
import subprocess
import time

import pytest


@pytest.fixture
def both(python, binary, clean_env, work, write):
    """Runs a program without and with us; returns both results after comparing them."""
    def run(text, *args, stdin=b"", env=None, timeout=240):
        path = write(text)
        results = []
        for launcher in ([python], [binary, "run", "--quiet", "--python", python]):
            process = subprocess.Popen(
                launcher + [str(path), *args], cwd=str(work), env={**clean_env, **(env or {})},
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            out, err = process.communicate(stdin, timeout)
            status = process.returncode
            results.append((128 - status if status < 0 else status, out, err))
        without, recorded = results
        assert recorded == without
        return without
    return run


@pytest.mark.parametrize("ending, status", [
    ("pass", 0),
    ("sys.exit()", 0),
    ("sys.exit(5)", 5),
    ("sys.exit(300)", 300 & 255),
    ("sys.exit('a reason')", 1),
    ("raise KeyError('x')", 1),
    ("raise SystemExit(4)", 4),
    ("os._exit(7)", 7),
    ("os.kill(os.getpid(), signal.SIGKILL)", 128 + signal.SIGKILL),
    ("os.kill(os.getpid(), signal.SIGSEGV)", 128 + signal.SIGSEGV),
    ("os.kill(os.getpid(), signal.SIGTERM)", 128 + signal.SIGTERM),
    ("os.abort()", 128 + signal.SIGABRT),
    ("raise KeyboardInterrupt", 128 + signal.SIGINT),
    ("threading.Thread(target=lambda: 1 / 0, name='t').start()", 0),
    ("atexit.register(print, 'at exit')", 0),
])
def test_every_way_to_end(both, ending, status):
    result = both("""
        import atexit, os, resource, signal, sys, threading
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        print("on standard output")
        print("on standard error", file=sys.stderr)
        sys.stdout.flush()
        def inner():
            %s
        def outer(): inner()
        outer()
    """ % ending)
    assert result[0] == status
    assert result[1].startswith(b"on standard output\n")


def test_what_runs_when_all_modules_are_gone(both):
    """A destructor in the interpreter's last collection; the thread's name is not known by then."""
    assert both("""
        import os, sys
        class Last:
            def __init__(self):
                self.me, self.write = self, os.write
                self.functions = [eval("lambda: %d" % i) for i in range(1000)]
            def __del__(self):
                for function in self.functions * 20:
                    function()
                self.write(2, b"last")
        sys.last_of_all = Last()
        assert "threading" not in sys.modules
    """)[2] == b"last"


def test_a_syntax_error_is_told_by_python(both):
    status, _, err = both("def f(:\n")
    assert status == 1 and b"SyntaxError" in err


def test_standard_input_and_binary_output(both):
    data = bytes(range(256)) * 40000
    status, out, _ = both("""
        import sys
        while True:
            piece = sys.stdin.buffer.read(65536)
            if not piece:
                break
            sys.stdout.buffer.write(piece)
    """, stdin=data)
    assert status == 0 and out == data


def test_50_megabytes_through_a_pipe(both):
    status, out, _ = both("""
        import sys
        line = b"x" * 1023 + b"\\n"
        for _ in range(50 * 1024):
            sys.stdout.buffer.write(line)
    """)
    assert status == 0 and len(out) == 50 << 20


def test_the_program_sees_the_same_world(both, work):
    """Every difference is one of those listed here."""
    (work / "own").mkdir()
    status, out, _ = both("""
        import json, os, signal, sys, threading
        env = {k: v for k, v in os.environ.items()
               if k not in ("INFERSCOPE_SESSION", "INFERSCOPE_AGENT", "CUDA_INJECTION64_PATH",
                            "NVTX_INJECTION64_PATH", "PYTHONPATH", "_")}
        path = [p for p in os.environ["PYTHONPATH"].split(":") if "inferscope" not in p]
        json.dump({
            "argv": sys.argv, "orig_argv": getattr(sys, "orig_argv", None), "file": __file__,
            "name": __name__, "cwd": os.getcwd(), "env": env, "PYTHONPATH": path,
            "path": [p for p in sys.path if not p.endswith("lib/inferscope/python")],
            "ours": len([p for p in sys.path if p.endswith("lib/inferscope/python")][1:]),
            "executable": sys.executable, "flags": str(sys.flags), "prefix": sys.prefix,
            "profile": repr(sys.getprofile()), "trace": repr(sys.gettrace()),
            "threading": [t.name for t in threading.enumerate()],
            "limit": sys.getrecursionlimit(), "switch": sys.getswitchinterval(),
            "descriptors": sorted(os.listdir("/proc/self/fd")),
            "mask": [int(s) for s in signal.pthread_sigmask(signal.SIG_BLOCK, [])],
            "handlers": [repr(signal.getsignal(s)) for s in range(1, 32)],
            "mentions": [m for m in sys.modules if "inferscope" in m and m != "inferscope"
                         and not m.startswith("inferscope.")],
        }, sys.stdout, sort_keys=True)
    """, "one", "two words", "", env={"PYTHONPATH": str(work / "own"), "MINE": "1"})
    seen = json.loads(out)
    assert status == 0
    assert seen["argv"][1:] == ["one", "two words", ""]
    assert seen["profile"] == seen["trace"] == "None"
    assert seen["PYTHONPATH"] == [str(work / "own")]
    assert seen["ours"] == 0


def test_the_programs_own_profilers_work(both):
    """sys.setprofile and cProfile count what they count without us."""
    status, out, _ = both("""
        import cProfile, json, pstats, sys
        seen = []

        def work():
            inner()
            len("x")
        def inner(): pass

        sys.setprofile(lambda frame, event, arg: seen.append((event, frame.f_code.co_name)))
        work()
        sys.setprofile(None)
        assert sys.getprofile() is None

        profiler = cProfile.Profile()
        for _ in range(2):
            profiler.runcall(work)
        counts = {name: entry[0] for (_, _, name), entry in pstats.Stats(profiler).stats.items()}

        lines = []
        def trace(frame, event, arg):
            lines.append((event, frame.f_code.co_name))
            return trace
        sys.settrace(trace)
        work()
        sys.settrace(None)
        json.dump([seen, counts["work"], counts["inner"], lines], sys.stdout)
    """)
    seen, work_calls, inner_calls, lines = json.loads(out)
    assert status == 0 and (work_calls, inner_calls) == (2, 2)
    assert ["call", "inner"] in seen and ["line", "inner"] in lines


@pytest.mark.parametrize("where", ["PYTHONPATH", "none", "broken"])
def test_the_programs_sitecustomize_runs(both, work, where):
    custom = work / "custom"
    custom.mkdir()
    if where != "none":
        (custom / "sitecustomize.py").write_text(
            "import sys; sys.from_sitecustomize = __file__\n"
            + ("raise ValueError('mine')\n" if where == "broken" else ""))
    status, out, _ = both("""
        import sys
        print(getattr(sys, "from_sitecustomize", None))
        print(getattr(sys.modules.get("sitecustomize"), "__file__", None))
    """, env={"PYTHONPATH": str(custom)})
    assert status == 0
    if where != "none":
        assert out.decode().splitlines()[0] == str(custom / "sitecustomize.py")


def test_the_sitecustomize_of_a_virtual_environment_runs(python, inferscope, write, tmp_path):
    venv = tmp_path / "venv"
    subprocess.run([python, "-m", "venv", "--without-pip", str(venv)], check=True)
    site, = (venv / "lib").glob("python*/site-packages")
    (site / "sitecustomize.py").write_text("import sys; sys.custom = 'of the venv'\n")
    write("import sys; print(sys.custom, sys.prefix)")
    done = inferscope("run", "--quiet", "--python", venv / "bin" / "python", "program.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "of the venv %s\n" % venv, "")


WAITS = """
    import os, signal, sys, time
    def say(text):  # print() is not made to be interrupted
        os.write(1, text.encode() + b"\\n")
    def handler(number, frame):
        say("caught %d" % number)
        sys.exit(9)
    if sys.argv[1] == "handler":
        signal.signal(signal.SIGTERM, handler)
        signal.signal(signal.SIGINT, handler)
    try:
        say("ready")
        # Not one long sleep: a signal that comes right before it begins does not end it.
        for _ in range(600):
            time.sleep(0.1)
    except KeyboardInterrupt:
        say("interrupted")
        sys.exit(8)
"""


@pytest.mark.parametrize("signal_number, argument, status, said", [
    (signal.SIGTERM, "handler", 9, "caught 15\n"),
    (signal.SIGINT, "handler", 9, "caught 2\n"),
    (signal.SIGINT, "none", 8, "interrupted\n"),
    (signal.SIGTERM, "none", 128 + signal.SIGTERM, ""),
    (signal.SIGHUP, "none", 128 + signal.SIGHUP, ""),
])
def test_signals_reach_the_workload_and_the_report_is_written(
        python, binary, clean_env, work, write, read_trace, signal_number, argument, status, said):
    write(WAITS)
    process = subprocess.Popen(
        [binary, "run", "--quiet", "--python", python, "--report", "r.json", "--trace", "t.isc",
         "program.py", argument], cwd=str(work), env=clean_env, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, universal_newlines=True)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal_number)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == (status, said, "")
    assert json.loads((work / "r.json").read_text())["run"]["exit_status"] == status
    assert len(read_trace("t.isc").calls("say")) == 1 + bool(said)


def test_what_was_published_before_a_kill_is_there(
        python, binary, clean_env, work, write, read_trace):
    write("""
        import time
        from inferscope import mark_event
        def step(): pass
        i = 0
        while True:
            step()
            mark_event("did", i=i)
            print(i, flush=True)
            i += 1
    """)
    process = subprocess.Popen(
        [binary, "run", "--quiet", "--python", python, "--trace", "t.isc", "program.py"],
        cwd=str(work), env=clean_env, stdout=subprocess.PIPE, universal_newlines=True)
    for _ in range(2000):
        process.stdout.readline()
    children = "/proc/%d/task/%d/children" % (process.pid, process.pid)
    with open(children) as file:
        os.kill(int(file.read().split()[0]), signal.SIGKILL)
    rest = process.stdout.read()
    process.stdout.close()
    assert process.wait(30) == 128 + signal.SIGKILL
    said = 2000 + rest.count("\n")
    recording = read_trace("t.isc")
    marks = [event["args"]["i"] for event in recording.of("instant", "did")]
    assert marks == list(range(len(marks)))
    assert said <= len(marks) <= said + 1, "each is marked before it is said"
    assert len(recording.calls("step")) >= len(marks)


def test_the_recorder_may_die(python, binary, clean_env, work, write):
    """kill -9 of `inferscope run` itself: the workload goes on as if nothing had happened."""
    write("""
        import sys, time
        from inferscope import scope
        def step(i):
            with scope("step", i=i):
                return i
        print("ready", flush=True)
        sys.stdin.readline()
        print(sum(step(i) for i in range(300000)), flush=True)
    """)
    process = subprocess.Popen(
        [binary, "run", "--quiet", "--python", python, "program.py"], cwd=str(work),
        env=clean_env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        universal_newlines=True)
    assert process.stdout.readline() == "ready\n"
    process.kill()
    process.wait()
    process.stdin.write("go\n")
    process.stdin.close()
    assert process.stdout.read() == "%d\n" % sum(range(300000))
    assert process.stderr.read() == ""
    process.stdout.close()
    process.stderr.close()


@pytest.mark.measures
def test_the_report_comes_soon(python, inferscope, write):
    write("pass")
    start = time.monotonic()
    done = inferscope("run", "--quiet", "--python", python, "program.py")
    assert done.returncode == 0
    assert time.monotonic() - start < 5
