# Runs first in every Python that a recorded workload starts, whatever its version: keep to what
# Python 2.7 and 3 have in common.  It loads the agent, takes itself out of the way and hands over
# to the sitecustomize that would have run without us.  Nothing here may print or fail.
import os
import sys


def _note(text):
    """Leaves a line for the recorder."""
    pid, _, note, _ = os.environ["INFERSCOPE_SESSION"].split(".")
    path = "/proc/%s/fd/%s" % (pid, note)
    # The recorder may be gone and its number another process's: not into that one's files.
    if os.readlink(path) == "/memfd:inferscope-notes (deleted)":
        with open(path, "a") as notes:
            # Its number there, which in a namespace of its own is not the one it knows.
            notes.write("%s %s\n" % (os.readlink("/proc/self"), text))


def _refusal():
    version = "%d.%d" % sys.version_info[:2]
    if sys.version_info < (3, 8):
        return "Python %s is too old: its calls are not recorded (3.8 or newer is needed)" % version
    if sys.implementation.name != "cpython":
        return "%s is not CPython: its calls are not recorded" % sys.implementation.name
    if hasattr(sys, "gettotalrefcount"):
        return "Python %s is a debug build: its calls are not recorded" % version
    if "t" in sys.abiflags:
        return "Python %s is a free-threaded build: its calls are not recorded" % version
    return None


_INNER = "Python code of its subinterpreters is not recorded"


def _failure(text):
    # From 3.12 on they cannot load it.
    return _INNER if "subinterpreters" in text else "the agent could not be loaded: " + text


def _find(name, path):
    from _frozen_importlib_external import PathFinder

    spec = PathFinder.find_spec(name, path)
    return spec if spec is not None and spec.loader is not None else None


def _load(spec):
    from _frozen_importlib import module_from_spec

    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)


def _load_package(folder):
    """The recorder's own, though the workload may have another copy: what is injected into CUDA is
    the recorder's, and of two agents in one process each takes the recording for its own.  What
    only bears our name is the workload's, and stays."""
    found = _find("inferscope", sys.path)
    places = found.submodule_search_locations or [] if found else []
    if not found or any(os.path.exists(os.path.join(p, "_agent.abi3.so")) for p in places):
        _load(_find("inferscope", [folder]))


def _start_inferscope(home):
    if "INFERSCOPE_SESSION" not in os.environ:
        return
    package = os.path.join(home, "python")
    try:
        refusal = _refusal()
        installed = os.path.isdir(package)
        if installed:
            # Importable for the workload, behind everything it has.
            sys.path.append(package)
        if refusal:
            _note(refusal)
            return
        if getattr(sys.modules.get("inferscope._autostart"), "joined", False):
            return  # INFERSCOPE_ENABLE was here before
        # `home` of a wheel is the package; its folder, maybe another Python's, stays off sys.path.
        _load_package(package if installed else os.path.dirname(home))
        from inferscope import _agent

        if _agent.attach(os.environ["INFERSCOPE_SESSION"]):
            os.register_at_fork(
                before=_agent.fork_begins,
                after_in_parent=_agent.fork_ends,
                after_in_child=_agent.forked,
            )
        elif _agent.is_recording():
            _note(_INNER)  # the main interpreter has joined
    except Exception:
        try:
            _note(_failure(str(sys.exc_info()[1])))
        except Exception:
            pass  # no recorder to tell


def _hand_over(home):
    if sys.version_info < (3, 5):
        _start_inferscope(home)
        _hand_over_2()
        return
    # Looked for before the recording begins: the search is ours, what it finds is the workload's.
    theirs = _find("sitecustomize", sys.path)
    _start_inferscope(home)
    if theirs is None:
        # What `site` expects where there is none; and so sys.modules holds none either.
        raise ImportError("No module named 'sitecustomize'", name="sitecustomize")
    _load(theirs)


def _hand_over_2():
    import imp

    try:
        found = imp.find_module("sitecustomize", sys.path)
    except ImportError:
        return
    imp.load_module("sitecustomize", *found)


_here = os.path.dirname(os.path.abspath(__file__))
_home = os.path.dirname(_here)
sys.path[:] = [p for p in sys.path if p not in (_here, os.path.join(_home, "python"))]
_hand_over(_home)
