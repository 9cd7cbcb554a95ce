"""For tests of the tests: pytest on a folder, with nothing of ours but what it asks for."""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def run(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
         "--basetemp", str(folder / "base"), *arguments], cwd=str(folder),
        env={"PYTHONPATH": HERE}, stdout=subprocess.PIPE, universal_newlines=True)
