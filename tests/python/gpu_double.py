"""Fixtures: programs that use the fake CUDA of tests/doubles, recorded."""

import json
import os
import shutil
import textwrap

import pytest

import gpu_trace


class Doubles:
    def __init__(self, binary, root):
        self.folder = os.path.join(os.path.dirname(binary), "..", "..", "tests", "doubles")
        self.folder = os.path.abspath(self.folder)
        self.bindings = os.path.join(root, "tests", "doubles", "fake_cuda.py")
        if not os.path.exists(self.path("libfake_cuda.so")):
            pytest.skip("no doubles of CUDA beside %s" % binary)

    def path(self, name):
        return os.path.join(self.folder, name)


@pytest.fixture(scope="session")
def doubles(binary, root):
    return Doubles(binary, root)


@pytest.fixture
def gpu_env(doubles, work):
    """The environment of a program that imports fake_cuda; CUPTI is the fake one."""
    site = work / "site-packages"
    site.mkdir()
    shutil.copy(doubles.bindings, str(site))
    return {"PYTHONPATH": str(site), "FAKE_CUDA": doubles.path("libfake_cuda.so"),
            "INFERSCOPE_CUPTI": doubles.path("libfake_cupti.so")}


@pytest.fixture
def record_gpu(inferscope, gpu_env, work):
    """Records a program's text; returns the decoded trace, with the run as `done`."""
    def run(python, text, *args, env=None, status=0, options=(), **more):
        program = work / "program.py"
        program.write_text(textwrap.dedent(text))
        done = inferscope("run", "--quiet", *options, "--python", python, "--report", "r.json",
                          "--trace", "t.isc", program, *args, env={**gpu_env, **(env or {})},
                          **more)
        trace = gpu_trace.load(str(work / "t.isc"))
        # The program's own words, and one of ours where the GPU was not recorded to the end.
        missing = [state.text for state in trace.states
                   if state.state in (gpu_trace.UNAVAILABLE, gpu_trace.STOPPED)]
        warnings = "".join("inferscope: %s\n" % text for text in missing[:1])
        assert (done.returncode, done.stderr) == (status, warnings)
        assert trace.whole and all(thread.lost() == 0 for thread in trace.threads.values())
        trace.done = done
        return trace
    return run


@pytest.fixture
def torch_profiler(work):
    """A torch.autograd.profiler that the program can import, and that does nothing."""
    profiler = work / "torch" / "autograd" / "profiler.py"
    profiler.parent.mkdir(parents=True)
    for package in (profiler.parent, profiler.parent.parent):
        (package / "__init__.py").write_text("")
    profiler.write_text("class profile:\n"
                        "    def __enter__(self): self._prepare_trace()\n"
                        "    def _prepare_trace(self): pass\n"
                        "    def __exit__(self, *why): pass\n")


def told(trace):
    """What the program printed: one JSON value per line."""
    return [json.loads(line) for line in trace.done.stdout.splitlines()]


def only_state(trace):
    state, = trace.states
    return state
