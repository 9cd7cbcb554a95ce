"""Prints the CPythons that the tests are to cover, colon separated.

The interpreter that runs this comes first; then, for every other minor version
from 3.8 to 3.15, the first that is found in ~/.pyenv/versions, on the PATH or
in /usr/bin.  Builds that cannot be started are left out.

    find_pythons.py --ends      only the oldest and the newest
"""

import glob
import os
import shutil
import subprocess
import sys

SUPPORTED = [(3, minor) for minor in range(8, 16)]
PROBE = """
import platform, sys
print(platform.python_implementation(), *sys.version_info[:2], sys.executable)
"""


def candidates(found):
    """Paths; by its name on the PATH only a version that was not found before."""
    pyenv = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    yield from sorted(glob.glob(os.path.join(pyenv, "versions", "3.*", "bin", "python")))
    for version in SUPPORTED:
        path = version not in found and shutil.which("python%d.%d" % version)
        if path:
            yield path
    yield "/usr/bin/python3"


def probe(python):
    """(implementation, (major, minor), executable), or None if it does not start."""
    try:
        run = subprocess.run([python, "-c", PROBE], stdout=subprocess.PIPE, text=True,
                             stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    words = run.stdout.strip().split(" ", 3)
    if run.returncode or len(words) != 4:
        return None
    return words[0], (int(words[1]), int(words[2])), words[3]


def main():
    found = {tuple(sys.version_info[:2]): sys.executable}
    for python in candidates(found):
        answer = probe(python)
        if answer and answer[0] == "CPython" and answer[1] in SUPPORTED:
            found.setdefault(answer[1], answer[2])
    if sys.argv[1:] == ["--ends"]:
        found = {version: found[version] for version in (min(found), max(found))}
    print(":".join(found.values()))


if __name__ == "__main__":
    main()
