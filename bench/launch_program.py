"""The program of bench_launch.py: launches from many places of a deep stack; the ns of each."""

import ctypes
import os
import sys

PLACES = 200
DEPTH = 24

agent, cupti, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
library = ctypes.CDLL(cupti)
library.launch_ns.restype = ctypes.c_uint64
if library.launches_init(int(os.environ["COLD_DATA"]), int(os.environ["COLD_CODE"])):
    sys.exit("no memory")
if os.environ.get("INFERSCOPE_SESSION"):
    ctypes.CDLL(agent).InitializeInjection()

taken = []
space = {"launch": library.launch_ns, "taken": taken}
exec("def leaf_0():\n    taken.append(launch())\n" + "".join(
    "def leaf_%d():\n    leaf_%d()\n" % (i, i - 1) for i in range(1, DEPTH)), space)
exec("def step():\n" + "    leaf_%d()\n" % (DEPTH - 1) * PLACES, space)
for _ in range(rounds + 1):
    space["step"]()
taken = sorted(taken[PLACES:])  # the first round names everything
print(taken[len(taken) // 2])
