"""CUDA starts late or never, the program ends one way or another, forks, or needs no Python."""

import os
import sys
import time

import pytest

import gpu_trace
from gpu_double import only_state, told

MANY = """
    import fake_cuda, os, signal, sys, time
    fake_cuda.init()
    for _ in range(1000):
        fake_cuda.launch("k")
    fake_cuda.free_gil.fake_sync_device()
    time.sleep(float(sys.argv[1]))
"""


@pytest.mark.parametrize("wait, end, status", [
    (0, "", 0),
    (0, "sys.exit(3)", 3),
    (0, "os.kill(os.getpid(), signal.SIGTERM)", 143),
    (1.2, "os._exit(5)", 5),
    (1.2, "os.kill(os.getpid(), signal.SIGKILL)", 137),
    (1.2, "os.abort()", 134),
])
def test_every_way_to_end(python, record_gpu, wait, end, status):
    """What was done a second before a death without warning is there; else, all of it."""
    if "SIGTERM" in end:
        wait = 1.2  # without a handler it is a death like the others
    trace = record_gpu(python, MANY + "    " + end, wait, status=status)
    assert len(trace.kernels) == 1000 and len(trace.calls) == 1001
    assert only_state(trace).state == gpu_trace.RECORDING


@pytest.mark.parametrize("end", ["FAKE_CUPTI_END", "FAKE_CUPTI_END_EARLY"])
def test_nobody_calls_cupti_while_it_ends_with_the_process(python, record_gpu, end):
    """CUDA's libraries take their time, and a thread of ours comes by every 200 ms."""
    trace = record_gpu(python, MANY, 0.3, env={end: "1000"})
    assert len(trace.kernels) == 1000 and len(trace.calls) == 1001
    assert only_state(trace).state == gpu_trace.RECORDING


def test_nor_at_the_end_of_a_native_program(inferscope, doubles, gpu_env, work):
    done = inferscope("run", "--quiet", "--trace", "t.isc", "--", doubles.path("native_program"),
                      env={**gpu_env, "FAKE_CUPTI_END": "1000"})
    assert (done.returncode, done.stderr) == (0, "")
    assert len(gpu_trace.load(str(work / "t.isc")).kernels) == 3


@pytest.mark.parametrize("wait", ["time.sleep(0.5)", "fake_cuda.free_gil.fake_sync_device()"])
def test_long_work_that_was_done_before_the_kill(record_gpu, wait):
    """It was under way when the finished work was fetched, and no call follows it."""
    trace = record_gpu(sys.executable, """
        import fake_cuda, os, signal, time
        fake_cuda.init()
        fake_cuda.launch("long", ns=500 * 10**6)
        %s
        time.sleep(1.2)
        os.kill(os.getpid(), signal.SIGKILL)
    """ % wait, status=137)
    assert [(k.name, k.duration) for k in trace.kernels] == [("long", 500 * 10**6)]


def test_an_exception_ends_the_program(python, inferscope, gpu_env, write, work):
    write("import fake_cuda\nfake_cuda.init()\nfake_cuda.launch('k')\nraise ValueError('mine')\n")
    done = inferscope("run", "--quiet", "--python", python, "--trace", "t.isc", "program.py",
                      env=gpu_env)
    assert done.returncode == 1 and done.stderr.endswith("ValueError: mine\n")
    assert len(gpu_trace.load(str(work / "t.isc")).kernels) == 1


def test_cuda_that_is_never_initialised_loads_nothing(python, record_gpu):
    trace = record_gpu(python, """
        import fake_cuda
        with open("/proc/self/maps") as maps:
            print("libfake_cupti" in maps.read())
    """)
    assert trace.done.stdout == "False\n"
    assert (trace.states, trace.activities(), trace.calls) == ([], [], [])


def test_without_the_gpu_nothing_is_injected(python, record_gpu):
    trace = record_gpu(python, """
        import fake_cuda, os
        fake_cuda.init()
        print(fake_cuda.launch("k"), os.environ.get("CUDA_INJECTION64_PATH"))
        with open("/proc/self/maps") as maps:
            print("libfake_cupti" in maps.read())
    """, options=["--no-gpu"])
    assert trace.done.stdout == "1 None\nFalse\n"
    assert (trace.states, trace.activities(), trace.calls) == ([], [], [])


def test_a_fork_after_cuda_began(python, record_gpu):
    """The child is left alone; CUDA does not work in it anyway.  The parent loses nothing."""
    trace = record_gpu(python, """
        import fake_cuda, os, sys, time
        fake_cuda.init()
        fake_cuda.launch("before")
        start = time.monotonic()
        pid = os.fork()
        if not pid:
            def child(): return fake_cuda.launch("in the child")
            print("child", child(), flush=True)
            sys.exit(4)
        status = os.waitpid(pid, 0)[1] >> 8
        fake_cuda.launch("after")
        print("parent", status, time.monotonic() - start < 1)
    """, env={"PYTHONWARNINGS": "ignore"})  # 3.12 warns of threads, and CUPTI has some
    assert trace.done.stdout == "child 0\nparent 4 True\n"
    assert [k.name for k in trace.kernels] == ["before", "after"]
    assert len({k.process for k in trace.kernels}) == 1 and len(trace.calls) == 2
    assert len(trace.processes) == 2
    assert only_state(trace).state == gpu_trace.RECORDING


def test_cuda_that_begins_in_children_only(python, record_gpu):
    trace = record_gpu(python, """
        import fake_cuda, os, subprocess, sys
        text = "import fake_cuda; fake_cuda.init(); fake_cuda.launch('spawned')"
        subprocess.run([sys.executable, "-c", text], check=True)
        pid = os.fork()
        if not pid:
            fake_cuda.init()
            fake_cuda.launch("forked")
            sys.exit(0)
        os.waitpid(pid, 0)
    """)
    assert sorted(k.name for k in trace.kernels) == ["forked", "spawned"]
    assert len({k.process for k in trace.kernels}) == 2
    assert [state.state for state in trace.states] == [gpu_trace.RECORDING] * 2


def test_a_program_without_python(inferscope, doubles, gpu_env, work):
    done = inferscope("run", "--quiet", "--trace", "t.isc", "--", doubles.path("native_program"),
                      env=gpu_env)
    assert (done.returncode, done.stderr) == (0, "")
    trace = gpu_trace.load(str(work / "t.isc"))
    trace.done = done
    assert [c.correlation for c in trace.calls] == told(trace)
    assert [(k.name, k.grid_x, k.dynamic_shared) for k in trace.kernels] == [
        ("native_kernel", 4, 1024)] * 3
    assert trace.copies[0].bytes == 4096 and {c.stack for c in trace.calls} == {0}
    assert [k.correlation for k in trace.kernels + trace.copies] == told(trace)[:4]


def test_the_programs_own_profiler_gets_cupti(python, record_gpu, torch_profiler):
    """Its trace has the GPU in it; ours ends there.  A wait meanwhile harms nothing."""
    trace = record_gpu(python, """
        import fake_cuda, threading, time
        from torch.autograd.profiler import profile
        fake_cuda.init()

        def waits():
            fake_cuda.launch("long", stream=9, ns=300 * 10**6)
            fake_cuda.free_gil.fake_sync_stream(9)
            time.sleep(0.4)
            fake_cuda.launch("by the one who waited")

        waiting = threading.Thread(target=waits)
        waiting.start()
        time.sleep(0.1)
        fake_cuda.launch("before")
        with profile():
            time.sleep(0.4)
            print(fake_cuda.free_gil.fake_other_tool_subscribes())
            fake_cuda.launch("meanwhile")
            fake_cuda.free_gil.fake_other_tool_leaves()
        fake_cuda.launch("after")
        waiting.join()
    """)
    assert trace.done.stdout == "0\n"
    assert [state.state for state in trace.states] == [gpu_trace.RECORDING, gpu_trace.STOPPED]
    assert "torch.profiler" in trace.states[1].text
    launched = [k.name for k in trace.kernels]
    assert "before" in launched and not {"meanwhile", "after"} & set(launched)
    by_correlation = {c.correlation: c for c in trace.calls}
    for kernel in trace.kernels:
        assert by_correlation[kernel.correlation].name == "cuLaunchKernel"


def test_a_late_start(python, record_gpu):
    start = time.monotonic()
    trace = record_gpu(python, """
        import fake_cuda, time
        for _ in range(1000):
            (lambda: None)()
        time.sleep(0.3)
        fake_cuda.init()
        fake_cuda.launch("k")
    """)
    assert time.monotonic() - start < 10
    assert only_state(trace).time_ns > 300_000_000
    assert [f.function for f in trace.stack(trace.calls[0])] == ["launch", "<module>"]


def test_start_and_stop_record_the_gpu(python, plain, package, gpu_env, work, write):
    """Where CUDA is initialised in between; the environment is left as it was."""
    write("""
        import os, sys
        import fake_cuda, inferscope
        inferscope.start("r.json", trace="t.isc")
        fake_cuda.init()
        for _ in range(25):
            fake_cuda.launch("k")
        fake_cuda.free_gil.fake_sync_device()
        inferscope.stop()
        print("CUDA_INJECTION64_PATH" in os.environ)
    """)
    done = plain(python, "program.py",
                 env={**gpu_env, "PYTHONPATH": os.pathsep.join([package, gpu_env["PYTHONPATH"]])})
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\n", "")
    trace = gpu_trace.load(str(work / "t.isc"))
    assert len(trace.kernels) == 25
    assert only_state(trace).state == gpu_trace.RECORDING
