"""What bench_cpu.py compares: the tools of its columns, and where each finds its Python.

Every version of Python gets a virtual environment of its own, .venv-bench-X.Y, with numpy and
the tools that pip can get for it.  A tool that it cannot get is left out with pip's reason.
"""

import hashlib
import importlib.util
import os
import subprocess
from collections import namedtuple

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
WORKLOADS = os.path.join(HERE, "workloads")
REPORT = "report.json"

# key; title; the package that pip installs, None: nothing; how much longer a run takes, for the
# estimate; the command of a script as a function of an Environment.
Tool = namedtuple("Tool", "key title package factor command")


class Missing(Exception):
    """A tool or a Python cannot be had; the text says why."""


def inferscope(mode):
    def command(env, script):
        return [env.inferscope, "run", "--quiet", "--cpu", mode, "--python", env.python,
                "--report", REPORT, script]
    return command


def module(*words):
    return lambda env, script: [env.python, "-m", *words, script]


def py_spy(env, script):
    return [os.path.join(os.path.dirname(env.python), "py-spy"), "record", "--rate", "1000",
            "--format", "raw", "--output", "stacks", "--", env.python, script]


TOOLS = {tool.key: tool for tool in (
    Tool("auto", "InferScope auto", None, 1.3, inferscope("auto")),
    Tool("trace", "InferScope trace", None, 3.0, inferscope("trace")),
    Tool("sample", "InferScope sample", None, 1.3, inferscope("sample")),
    Tool("cprofile", "cProfile", None, 2.0, module("cProfile", "-o", "profile")),
    # Python's functions alone, as InferScope traces them: with C functions it takes longer.
    Tool("viztracer", "VizTracer", "viztracer", 6.0,
         module("viztracer", "--quiet", "--ignore_c_function", "-o", "trace.json")),
    Tool("pyspy", "py-spy 1 kHz", "py-spy", 2.0, py_spy),
    Tool("scalene", "Scalene", "scalene", 2.5,
         module("scalene", "run", "-o", "scalene.json")),
)}
OURS = ("auto", "trace", "sample")

# The script of a row, and the packages that it needs beside the standard library.
ROWS = {
    "fib": (), "parsing": (), "tokenizer": (), "numpy_images": ("numpy",),
    "torch_encoder": ("torch",), "asyncio_echo": (), "gil_threads": (), "exceptions": (),
    "generators": (), "mmap_buffers": (),
}


def script_of(row):
    return os.path.join(WORKLOADS, row + ".py")


def digest(*paths):
    sha = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as file:
            sha.update(file.read())
    return sha.hexdigest()[:16]


def output_of(arguments, env=None):
    """(status, text) of a command."""
    done = subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, env=env)
    return done.returncode, done.stdout


def reason_of(text):
    """The line of an error output that says most: the last that is no warning of pip."""
    lines = [line for line in text.strip().splitlines()
             if line.strip() and not line.startswith(("WARNING", "[notice]"))]
    return lines[-1].strip() if lines else "no reason given"


def find_pythons():
    """{"3.12": path} of every CPython of this machine."""
    spec = importlib.util.spec_from_file_location(
        "find_pythons", os.path.join(ROOT, "scripts", "find_pythons.py"))
    finder = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(finder)
    found = {}
    for path in finder.candidates():
        answer = finder.probe(path)
        if answer and answer[0] == "CPython":
            found.setdefault("%d.%d" % answer[1], path)
    return found


class Environment:
    """One version of Python, with the tools for it."""

    def __init__(self, version, folder, binary):
        self.version = version
        self.inferscope = binary
        self.folder = os.path.join(folder, ".venv-bench-" + version)
        self.python = os.path.join(self.folder, "bin", "python")
        self.tried = {}

    def make(self, base):
        """`base`: the Python to make it with.  One that is there is kept."""
        if not os.path.exists(self.python):
            status, text = output_of([base, "-m", "venv", self.folder])
            if status:
                raise Missing("venv of %s: %s" % (self.version, reason_of(text)))

    def variables(self, row):
        """
        What a row's programs find in their environment.  torch is large: it comes from .venv, for
        the version of that alone, and no other row sees it (Scalene would use it).  With numpy's
        arrays glibc gives the top of its heap back and takes it again in every round, or never, by
        where the heap happens to end, a third of the time: that luck is taken out.
        """
        if "numpy" in ROWS[row]:
            return {"MALLOC_TOP_PAD_": str(64 << 20)}
        if "torch" not in ROWS[row]:
            return {}
        return {"PYTHONPATH": os.path.join(ROOT, ".venv", "lib", "python" + self.version,
                                           "site-packages")}

    def version_of(self, package, row):
        """What is installed, "" if nothing is."""
        status, text = output_of([self.python, "-c", "import importlib.metadata as m, sys\n"
                                  "print(m.version(sys.argv[1]))", package],
                                 dict(os.environ, **self.variables(row)))
        return "" if status else text.strip()

    def need(self, package, row):
        """Installs it where it is not; returns its version."""
        if package not in self.tried:
            version = self.version_of(package, row)
            reason = "is not in .venv for this version" if package == "torch" else ""
            if not version and not reason:
                _, text = output_of([self.python, "-m", "pip", "install", "-q", "--no-input",
                                     "--disable-pip-version-check", "--only-binary", ":all:",
                                     package])
                version, reason = self.version_of(package, row), reason_of(text)
            self.tried[package] = version, reason
        version, reason = self.tried[package]
        if not version:
            raise Missing("%s %s" % (package, reason))
        return version

    def identity(self, tool, row):
        """A text that changes whenever a measured cell is no longer true; may raise Missing."""
        packages = ["%s %s" % (name, self.need(name, row))
                    for name in (*ROWS[row], *([tool.package] if tool.package else []))]
        sources = [script_of(row), script_of("timed")]
        if tool.key in OURS:
            agent = os.path.join(os.path.dirname(self.inferscope), "..", "lib", "inferscope",
                                 "python", "inferscope", "_agent.abi3.so")
            sources += [self.inferscope, agent]
        return " ".join([digest(*sources), *packages])
