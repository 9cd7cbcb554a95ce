"""What our callbacks cost at a launch, with warm and with cold caches (cold_cupti.c)."""

import os
import statistics
import subprocess
import sys
import tempfile

BINARY = os.environ["INFERSCOPE_BIN"]
STAGE = os.path.dirname(os.path.dirname(BINARY))
BUILD = os.path.dirname(STAGE)
AGENT = os.path.join(STAGE, "lib", "inferscope", "python", "inferscope", "_agent.abi3.so")
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "launch_program.py")
REPEATS = 7


def newest_python():
    """From 3.12 on functions are named without recording calls, as on the machines with a GPU."""
    finder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../scripts/find_pythons.py")
    found = subprocess.run([sys.executable, finder], stdout=subprocess.PIPE, text=True,
                           check=True).stdout.strip().split(":")
    return max(found, key=version)


def version(python):
    words = subprocess.run([python, "-V"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [int(part) for part in words.split()[1].split(".")[:2]]


PYTHON = newest_python()

# name, bytes of data and of code that are run through between two launches
CACHES = [("warm", 64, 64), ("cold", 4 << 20, 2 << 20)]


def one(data, code, recorded):
    cupti = os.path.join(BUILD, "bench", "libcold_cupti.so")
    env = {name: value for name, value in os.environ.items() if not name.startswith("INFERSCOPE_")}
    env.update(COLD_DATA=str(data), COLD_CODE=str(code), INFERSCOPE_CUPTI=cupti)
    with tempfile.TemporaryDirectory() as folder:
        run = [BINARY, "run", "--quiet", "--no-cpu", "--max-overhead", "100", "--no-trace",
               "--report", "r.json", "--"]
        return int(subprocess.run((run if recorded else []) +
                                  [PYTHON, PROGRAM, AGENT, cupti, "15"],
                                  cwd=folder, env=env, check=True, text=True,
                                  stdout=subprocess.PIPE).stdout)


for name, data, code in CACHES:
    pairs = [(one(data, code, False), one(data, code, True)) for _ in range(REPEATS)]
    print("launch.callbacks.%s %.0f ns" % (
        name, statistics.median(recorded - plain for plain, recorded in pairs)))
