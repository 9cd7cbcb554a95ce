"""A lock across the processes of pytest-xdist, for what they download once."""

import contextlib
import fcntl


@contextlib.contextmanager
def locked(path):
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
