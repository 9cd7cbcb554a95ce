"""What NVTX's calls cost: without a tool; recorded; left out, because the budget is overdrawn.

All figures but those without a tool are what comes on top of it.
"""

import os
import subprocess
import tempfile

BINARY = os.environ["INFERSCOPE_BIN"]
PROGRAM = os.path.join(os.path.dirname(BINARY), "..", "..", "bench", "nvtx_cost")
RUN = [BINARY, "run", "--quiet", "--no-trace", "--report", "report.json"]
CALLS = ("pair", "registered_pair", "started_pair", "mark")

# name, words before the program, is a tool there, goals
WAYS = [
    ("alone", [], "0", {}),
    ("recorded", RUN + ["--max-overhead", "100", "--"], "1",
     {"pair": "<= 100", "registered_pair": "<= 100", "started_pair": "<= 100"}),
    ("left_out", RUN + ["--"], "1", {}),
]


def main():
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("INFERSCOPE_", "NVTX_"))}
    alone = None
    for name, before, listens, goals in WAYS:
        with tempfile.TemporaryDirectory() as folder:
            words = subprocess.run(before + [PROGRAM], cwd=folder, env=env, check=True,
                                   stdout=subprocess.PIPE, text=True).stdout.split()
        if words[0] != listens:
            raise SystemExit("the measurement was not made as meant: %s" % words)
        values = [float(word) for word in words[1:]]
        for call, value, plain in zip(CALLS, values, alone or [0] * len(CALLS)):
            print("nvtx.%s.%s %.1f ns %s" % (name, call, value - plain, goals.get(call, "")))
        alone = alone or values


main()
