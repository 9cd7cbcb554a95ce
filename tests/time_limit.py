"""
A test that hangs fails, and says what it and the processes it had started were doing: the stack of
the test is pytest's, the processes are told with their threads and what each waits for in the
kernel.  They are killed, or they would be in the way of the tests after it.
"""

import contextlib
import os
import signal

import pytest

SECONDS = 240  # the slowest test takes 25 on a machine with two cores


@contextlib.contextmanager
def bounded(item):
    if item.get_closest_marker("long"):
        yield
        return

    def over(_signal, _frame):
        found = descendants(os.getpid())
        told = [text for text in map(doing, found) if text]
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        pytest.fail("; ".join(["still not done after %d s" % SECONDS, *told]))

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def descendants(root):
    """Of a process, parents before their children."""
    children = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            children.setdefault(parent(pid), []).append(int(pid))
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found[1:]


def parent(pid):
    return int(proc_file(pid, "stat").rpartition(")")[2].split()[1])


def proc_file(*path):
    with open(os.path.join("/proc", *map(str, path)), errors="replace") as file:
        return file.read()


def doing(pid):
    """In one line, as run_again.py tells no more of a failure; None if the process is gone."""
    with contextlib.suppress(OSError):
        threads = ["%s %s in %s" % (thread, proc_file(pid, "task", thread, "comm").strip(),
                                    proc_file(pid, "task", thread, "wchan"))
                   for thread in os.listdir("/proc/%d/task" % pid)]
        command = proc_file(pid, "cmdline").replace("\0", " ")[:200]
        return "%d of %d (%s): %s" % (pid, parent(pid), " ".join(command.split()),
                                      ", ".join(threads))
    return None
