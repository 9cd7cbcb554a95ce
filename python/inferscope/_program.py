"""Where the program `inferscope` is, and the command of that name in a wheel's installation."""

import os
import shutil
import sys


def find_program():
    """The path of the program; RuntimeError where there is none."""
    here = os.path.dirname(os.path.abspath(__file__))
    for candidate in (
        os.path.join(here, "bin", "inferscope"),  # a wheel
        os.path.normpath(os.path.join(here, "..", "..", "..", "..", "bin", "inferscope")),
        shutil.which("inferscope"),
    ):
        if candidate and os.access(candidate, os.X_OK):
            return candidate
    raise RuntimeError("the program 'inferscope' was not found beside the package or in PATH")


def main():
    """Becomes the program: same process, same files, same signals."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "inferscope")
    try:
        os.execv(program, ["inferscope"] + sys.argv[1:])
    except OSError as error:
        sys.exit("inferscope: cannot run %s: %s" % (program, error.strerror))


def is_launcher():
    """Is this process main() of the installed command, before it became the program?

    Also true when asked before sys.argv exists, as the start-up file does.
    """
    with open("/proc/self/cmdline", "rb") as words:
        words = words.read().split(b"\0")
    return len(words) > 1 and os.path.basename(words[1]) == b"inferscope"
