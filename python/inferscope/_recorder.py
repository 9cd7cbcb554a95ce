"""start() and stop(): a recorder process for a program that was not started by `inferscope run`.

The recorder is the command `inferscope record`.  It detaches itself at once, so that the program
never has a child it does not know of.  Its standard input and output are pipes to us: it says
"session WHERE" when it is ready; we say "stop"; it says "report FILE" for each file and closes.
If we die, it notices and writes the report all the same.
"""

import atexit
import os
import sys

from inferscope._program import find_program

# Read by the CUDA driver when it is initialised and by NVTX at its first call, which must come
# after start().
_INJECTIONS = ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH")

_current = None  # (pipe to the recorder, pipe from it, pid that started it)
_fork_hooks_registered = False  # once and for all: what os.register_at_fork() has it keeps


def start(report, trace, settings, join=True):
    global _current, _fork_hooks_registered
    from inferscope import is_recording

    try:
        from inferscope import _agent
    except ImportError as error:
        raise RuntimeError("inferscope cannot record in this Python: %s" % error) from None
    if _current is None and join and is_recording():
        _join(report, trace, settings)
        return
    if _current is not None or is_recording():
        raise RuntimeError("a recording is on already")
    to_recorder, from_recorder = _launch(_options(report, trace, settings))
    line = from_recorder.readline().split()
    if len(line) != 2 or line[0] != "session":
        to_recorder.close()
        from_recorder.close()
        raise RuntimeError("the recorder could not be started: see the message above")
    os.environ["INFERSCOPE_SESSION"] = line[1]
    os.environ["INFERSCOPE_AGENT"] = _agent.__file__  # for native code: include/inferscope.h
    for variable in _INJECTIONS:
        if not os.environ.get(variable):
            os.environ[variable] = _agent.__file__
    try:
        refusal = None if _agent.attach(line[1]) else "is /proc mounted?"
    except MemoryError as error:
        refusal = error
    if refusal:
        _forget()
        to_recorder.close()
        from_recorder.close()
        raise RuntimeError("the recorder's memory cannot be opened (%s)" % refusal)
    if not _fork_hooks_registered:
        os.register_at_fork(before=_agent.fork_begins, after_in_parent=_agent.fork_ends,
                            after_in_child=_agent.forked)
        _fork_hooks_registered = True
    _current = (to_recorder, from_recorder, os.getpid())
    atexit.register(_stop_at_exit)
    other = os.environ["NVTX_INJECTION64_PATH"]
    if other != _agent.__file__ and settings.get("nvtx", True):
        _note(line[1], "NVTX_INJECTION64_PATH is set to another tool (%s): NVTX ranges are not "
                       "recorded" % other)
    if _cuda_is_initialised():
        _note(line[1], "CUDA was initialised before start(): the GPU is not recorded")


def _join(report, trace, settings):
    """`inferscope run` records this process already: nothing is left to do."""
    global _current

    session = os.environ.get("INFERSCOPE_SESSION")
    if session and (report or trace or settings):
        _note(session, "start() joined this recording: its report, trace and settings are those "
                       "of the recording, not those given to start()")
    _current = (None, None, os.getpid())


def stop():
    global _current
    if _current is None or _current[2] != os.getpid():
        raise RuntimeError("no recording was begun by start() in this process")
    from inferscope import _agent

    to_recorder, from_recorder, _ = _current
    _current = None
    if to_recorder is None:
        return []  # start() joined a recording, which goes on
    atexit.unregister(_stop_at_exit)
    _forget()
    for variable in _INJECTIONS:
        if os.environ.get(variable) == _agent.__file__:
            del os.environ[variable]
    _agent.detach()
    try:
        to_recorder.write("stop\n")
        to_recorder.close()
    except OSError:
        pass  # the recorder is gone; what it wrote until then stands
    with from_recorder:
        return [
            line.rstrip("\n").split(" ", 1)[1]
            for line in from_recorder
            if line.startswith("report ")
        ]


def _forget():
    os.environ.pop("INFERSCOPE_SESSION", None)
    os.environ.pop("INFERSCOPE_AGENT", None)


def _cuda_is_initialised():
    torch = sys.modules.get("torch")
    try:
        return torch is not None and torch.cuda.is_initialized()
    except Exception:  # another module of that name, or half of one
        return False


def _note(session, text):
    """Leaves a line for the report."""
    pid, _, note, _ = session.split(".")
    path = "/proc/%s/fd/%s" % (pid, note)
    # The recorder may be gone and its number another process's: not into that one's files.
    if os.readlink(path) == "/memfd:inferscope-notes (deleted)":
        with open(path, "a") as notes:
            notes.write("%d %s\n" % (os.getpid(), text))


def _stop_at_exit():
    if _current is not None and _current[2] == os.getpid():
        stop()


def _options(report, trace, settings):
    settings = dict(settings)
    settings.setdefault("quiet", True)
    if report is not None:
        settings["report"] = report
    if trace is not None:
        settings["trace"] = trace
    words = []
    for key, value in settings.items():
        option = "--" + key.replace("_", "-")
        if value is True:
            words.append(option)
        elif value is False:
            if key != "quiet":
                words.append("--no-" + key.replace("_", "-"))
        else:
            several = isinstance(value, (list, tuple))
            for item in value if several else [value]:
                words += [option, os.fspath(item) if hasattr(item, "__fspath__") else str(item)]
    return words


def _launch(options):
    import subprocess

    command = [find_program(), "record", "--pid", str(os.getpid())] + options
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True
    )
    process.wait()  # it has detached itself
    return process.stdin, process.stdout
