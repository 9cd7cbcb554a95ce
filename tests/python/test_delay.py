"""--delay and --duration: before and after it the program runs as if we were not there."""

import json
import signal
import subprocess
import sys

import pytest

import gpu_trace

# Programs wait for what they are to see, so that a slow machine only makes them slower.  What
# they do before the recording begins, or while it is on, they have seconds for.
DELAY_S = DURATION_S = 3

UNTIL = """
import os, sys, threading, time
from inferscope import is_recording

def until(condition, seconds=100):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.005)

def hooks():
    if sys.version_info >= (3, 12):
        return [sys.monitoring.get_tool(i) for i in range(6)].count("inferscope")
    return int(sys.getprofile() is not None)

def leaf(): pass
"""


@pytest.fixture
def run(inferscope, write, read_trace, work):
    def run(python, text, *options, status=0, ended=True, notes=0, **more):
        write(UNTIL + text)
        done = inferscope("run", "--quiet", "--report", "r.json", "--trace", "t.isc", *options,
                          "--python", python, "program.py", **more)
        assert (done.returncode, done.stderr) == (status, "")
        recording = read_trace("t.isc", done)
        assert recording.head["exit_status"] == (status if ended else None)
        if notes is not None:
            assert len(recording.head["notes"]) == notes, recording.head["notes"]
        return recording
    return run


def test_only_what_comes_after_the_delay(python, run, work):
    recording = run(python, """
def before(): pass
def after(): pass

for _ in range(100):
    before()
assert not is_recording() and not hooks()
assert len(os.listdir("/proc/self/task")) == 2, "one thread of ours, asleep"
began = time.monotonic()
until(is_recording)
for _ in range(100):
    after()
""", "--delay", DELAY_S)
    assert (len(recording.calls("before")), len(recording.calls("after"))) == (0, 100)
    until, = recording.functions("until")
    assert "resumed" in until
    assert until["start_us"] < 0.9e6 * DELAY_S, "time begins with the recording"
    main, = recording.functions("<module>")
    assert main["depth"] == 0 and until["depth"] == 1
    report = json.loads((work / "r.json").read_text())
    assert report["trust"]["spans_open_at_start"] == 0
    assert report["trust"]["repaired_spans"] == 0


def test_what_every_thread_was_in(python, run):
    recording = run(python, """
def outer(n):
    inner(n)

def inner(n):
    until(is_recording)
    for _ in range(n):
        leaf()

threads = [threading.Thread(target=outer, args=(n,), name="t%d" % n) for n in (5, 6, 7)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
""", "--delay", DELAY_S)
    name_of = {thread["id"]: thread["name"] for thread in recording.threads}
    for name in ("outer", "inner"):
        pieces = recording.functions(name)
        assert sorted(name_of[piece["thread"]] for piece in pieces) == ["t5", "t6", "t7"]
        assert all("resumed" in piece and "open_end" not in piece for piece in pieces)
    for n in (5, 6, 7):
        calls = [call for call in recording.calls("leaf") if name_of[call["thread"]] == "t%d" % n]
        inner, = [p for p in recording.functions("inner") if name_of[p["thread"]] == "t%d" % n]
        assert len(calls) == n and {call["depth"] for call in calls} == {inner["depth"] + 1}


def test_the_report_is_there_while_the_program_runs_on(python, run):
    recording = run(python, """
def during(): pass
def after(): pass

until(is_recording)
during()
until(lambda: not is_recording())
after()
until(lambda: os.path.exists("r.json") and os.path.getsize("r.json"))
until(lambda: not [after(), hooks()][1])
print("seen", flush=True)
sys.exit(6)
""", "--duration", DURATION_S, status=6, ended=False)
    assert recording.done.stdout == "seen\n"
    assert (len(recording.calls("during")), len(recording.calls("after"))) == (1, 0)
    assert 1e6 * DURATION_S <= recording.head["wall_us"] < 100e6


def test_who_audits_the_program_hears_nothing_of_the_end(python, run):
    """Unhooking is not a call of the program's: an audit hook may forbid those."""
    recording = run(python, """
heard = []
def audit(event, args):
    if event in ("sys.setprofile", "sys.settrace"):
        heard.append(event)
        raise RuntimeError(event)
def after(): pass
until(is_recording)
sys.addaudithook(audit)
until(lambda: not is_recording())
until(lambda: not [after(), hooks()][1])
print(heard)
""", "--duration", DURATION_S, ended=False)
    assert recording.done.stdout == "[]\n"


def test_both(python, run):
    recording = run(python, """
until(is_recording)
until(lambda: not is_recording())
""", "--delay", "0.3", "--duration", DURATION_S, ended=False)
    assert 1e6 * DURATION_S <= recording.head["wall_us"] < 100e6


# Printed, not raised: CPython forgets what os.fork() would raise.  And functions of the program's
# run before it counts.
WARNED = """
import os, warnings
warnings.simplefilter("always")
os.register_at_fork(after_in_parent=lambda: [str(i) for i in range(100)])
"""

FORKS = """
children = []
def begin(recorded):
    if recorded:
        until(is_recording)
        leaf()
    os._exit(0)

pid = os.fork() or begin(False)
os.waitpid(pid, 0)
pid = os.fork() or begin(True)
until(is_recording)
leaf()
assert os.waitpid(pid, 0)[1] == 0
"""


def test_children_wait_as_well_and_forking_tells_nothing(python, run):
    """From 3.12 on Python warns of a fork with several threads: our thread is gone by then."""
    recording = run(python, WARNED + FORKS, "--delay", "0.7")
    pids = {call["pid"] for call in recording.calls("leaf")}
    assert len(pids) == 2


BUSY = WARNED + """
import subprocess

def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)

def work(end):
    while time.monotonic() < end:
        try:
            fib(8)
            raise ValueError
        except ValueError:
            pass

def fork(end):
    while time.monotonic() < end:
        pid = os.fork()
        if not pid:
            fib(6)
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        subprocess.check_call(["true"])

end = time.monotonic() + 0.6
if sys.argv[1] == "fork":
    fork(end)
else:
    threads = [threading.Thread(target=work, args=(end,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


@pytest.mark.long
@pytest.mark.parametrize("delay", ["0.1", "0.2", "0.3", "0.4", "0.5"])
@pytest.mark.parametrize("mode", ["auto", "trace"])
@pytest.mark.parametrize("what", ["fork", "threads"])
def test_a_busy_program_whenever_it_begins(python, inferscope, write, what, mode, delay):
    write(UNTIL + BUSY)
    done = inferscope("run", "--quiet", "--log-level", "error", "--cpu", mode, "--delay", delay,
                      "--duration", "0.1", "--python", python, "program.py", what)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_spawned_python_waits_as_well(python, run):
    recording = run(python, """
import subprocess
code = "import inferscope, time\\\\nwhile not inferscope.is_recording(): time.sleep(0.005)"
child = subprocess.Popen([sys.executable, "-c", code])
until(is_recording)
assert child.wait() == 0
""".replace("\\\\n", "\\n"), "--delay", "0.5")
    assert len(recording.processes) == 2


def test_a_program_that_ends_before(python, inferscope, write, work):
    write("print('done')")
    done = inferscope("run", "--quiet", "--delay", "30", "--report", "r.json", "--python", python,
                      "program.py")
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert done.stderr == ("inferscope: nothing was recorded: the workload ended before the 30 s "
                           "of --delay elapsed\n")
    report = json.loads((work / "r.json").read_text())
    assert "nothing was recorded" in report["trust"]["notes"][0]
    assert inferscope("run", "--quiet", "--delay", "30", "--strict", "--python", python,
                      "program.py").returncode == 4


def test_the_delay_ends_while_python_does(python, inferscope, doubles, write, work):
    """The thread that is about to begin comes late to ask for the GIL (doubles/late_thread.c)."""
    write("""
        import os, threading, time
        def doing():
            with open("/proc/self/task/%s/syscall" % thread) as file:
                return file.read().split()[0]
        thread, = [t for t in os.listdir("/proc/self/task") if int(t) != os.getpid()]
        while doing() == "running":
            time.sleep(0.01)
        waits = doing()
        while doing() in (waits, "running"):
            time.sleep(0.01)
        print("bye")
    """)
    done = inferscope("run", "--quiet", "--log-level", "error", "--cpu", "sample", "--delay", "1",
                      "--no-trace", "--", "env", "LD_PRELOAD=" + doubles.path("liblate_thread.so"),
                      "LATE_THREAD_MS=900", python, work / "program.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "bye\n", "")


def test_the_program_ends_before_the_duration_does(python, run):
    assert run(python, "leaf()\n", "--duration", "60").calls("leaf")


@pytest.mark.parametrize("when", [("--delay", "60"), ("--duration", "0.1")])
def test_signals_reach_the_program_at_any_time(binary, clean_env, work, write, when):
    write(UNTIL + """
import signal
def bye(*unused):
    os.write(1, b"bye\\n")
    os._exit(9)
signal.signal(signal.SIGTERM, bye)
if sys.argv[1] == "--duration":
    until(lambda: os.path.exists("r.md"))
os.write(1, b"ready\\n")
for _ in range(600):  # a signal right before one long sleep would not end it
    time.sleep(0.1)
""")
    with subprocess.Popen([binary, "run", "--quiet", "--report", "r.md", *when, "--python",
                           sys.executable, "program.py", when[0]], cwd=str(work), env=clean_env,
                          stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=120)[0] == b"bye\n"
    assert process.returncode == 9
    assert (work / "r.md").exists()


def test_children_are_waited_for_after_the_report(inferscope, write, work):
    write(UNTIL + """
if not os.fork():
    until(lambda: os.path.exists("r.json"))
    time.sleep(0.3)
    print("late", flush=True)
    os._exit(0)
sys.exit(5)
""")
    done = inferscope("run", "--quiet", "--wait-children", "--duration", "0.2", "--report",
                      "r.json", "--python", sys.executable, "program.py")
    assert (done.returncode, done.stdout, done.stderr) == (5, "late\n", "")


@pytest.mark.parametrize("strict, status", [((), 7), (("--strict",), 4)])
def test_a_report_that_could_not_be_written_meanwhile(inferscope, write, work, strict, status):
    """The folder goes while the recording is on."""
    (work / "there").mkdir()
    write("import os, sys, time\nos.rmdir('there')\ntime.sleep(1.5)\nsys.exit(7)\n")
    done = inferscope("run", "--quiet", "--duration", "0.5", "--report", "there/r.json", *strict,
                      "--python", sys.executable, "program.py")
    assert "there/r.json" in done.stderr and done.returncode == status


def test_start_takes_both(python, plain, write, work, read_trace):
    write(UNTIL + """
import inferscope
def before(): pass
def during(): pass
inferscope.start("r.json", trace="t.isc", delay=0.5, duration=3)
before()
until(is_recording)
during()
until(lambda: not is_recording())
until(lambda: os.path.exists("r.json"))
assert inferscope.stop() == ["r.json"]
inferscope.start("again.json", trace="again.isc")
during()
inferscope.stop()
""")
    done = plain(python, "program.py")
    assert (done.returncode, done.stderr) == (0, "")
    recording = read_trace("t.isc")
    assert (len(recording.calls("before")), len(recording.calls("during"))) == (0, 1)
    assert len(read_trace("again.isc").calls("during")) == 1


def test_stop_before_it_begins(python, plain, write, work):
    write("""
        import inferscope
        inferscope.start("r.json", trace="t.isc", delay=60)
        assert inferscope.stop() == ["r.json"]
        inferscope.start("again.json", trace="again.isc")
        assert inferscope.is_recording()
        inferscope.stop()
    """)
    done = plain(python, "program.py")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("mode", ["auto", "sample"])
def test_samples_begin_with_the_recording(python, run, work, mode):
    run(python, """
def busy():
    end = time.thread_time() + 0.4
    while time.thread_time() < end:
        pass
until(is_recording)
busy()
""", "--delay", "0.5", "--cpu", mode, notes=None)
    report = json.loads((work / "r.json").read_text())
    busy, = [f for f in report["cpu"]["functions"] if f["name"] == "busy"]
    assert busy["samples"] > 0, busy


def test_the_gpu_waits_as_well(python, record_gpu):
    """CUDA is initialised before the recording begins, and works on after it is over."""
    trace = record_gpu(python, """
        import fake_cuda, time
        from inferscope import is_recording
        def launch(name):
            fake_cuda.launch(name)
        fake_cuda.init()
        launch("before")
        fake_cuda.free_gil.fake_sync_device()
        while not is_recording():
            time.sleep(0.005)
        while is_recording():  # CUPTI is started a little later, in the same thread
            launch("during")
            fake_cuda.free_gil.fake_sync_device()
            time.sleep(0.01)
        time.sleep(0.2)
        launch("after")
        fake_cuda.free_gil.fake_sync_device()
    """, options=("--delay", "0.5", "--duration", "3"))
    assert {kernel.name for kernel in trace.kernels} == {"during"}
    assert trace.states[0].state == gpu_trace.RECORDING
