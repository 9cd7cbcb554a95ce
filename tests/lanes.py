"""
`make test` runs the tests in lanes side by side (pytest-xdist).  A test that measures (the marker
`measures`) has the machine to itself all the same: no other lane runs a test meanwhile.  So has
one that failed beside others and is run again (run_again.py).
"""

import contextlib
import fcntl
import os
import tempfile

import pytest

FOLDER = pytest.StashKey()


@contextlib.contextmanager
def locked(path, how=fcntl.LOCK_EX):
    """Across processes.  Let go by hand: what a test forked may keep the file open."""
    with open(path, "w") as file:
        fcntl.flock(file, how)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)


@contextlib.contextmanager
def inside(folder, alone):
    """
    One room for all lanes, in which one test is alone or any number are together.  Who waits for
    it to be empty stands in the door, so that nobody else gets in first.
    """
    with contextlib.ExitStack() as stack:
        with locked(os.path.join(folder, "door")):
            stack.enter_context(locked(os.path.join(folder, "room"),
                                       fcntl.LOCK_EX if alone else fcntl.LOCK_SH))
        yield


def room(config, alone):
    """Where a test may run; without lanes that is everywhere."""
    folder = getattr(config, "workerinput", {}).get("room")
    return inside(folder, alone) if folder else contextlib.nullcontext()


def measures(item):
    return item.get_closest_marker("measures") is not None


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    """Of xdist, where the lanes are started: each is told where the room is."""
    if FOLDER not in node.config.stash:
        folder = tempfile.TemporaryDirectory(prefix="inferscope-lanes-")
        node.config.add_cleanup(folder.cleanup)
        node.config.stash[FOLDER] = folder.name
    node.workerinput["room"] = node.config.stash[FOLDER]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Who needs the room alone comes last: the lanes wait for each other once, not every time."""
    if hasattr(config, "workerinput"):
        items.sort(key=measures)
