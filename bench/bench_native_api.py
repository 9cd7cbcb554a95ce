"""What include/inferscope.h costs a native program: without InferScope, with an agent that records
nothing, and in a recording.  A scope is two calls, its begin and its end.
"""

import os
import subprocess
import tempfile

BINARY = os.environ["INFERSCOPE_BIN"]
STAGE = os.path.dirname(os.path.dirname(BINARY))
PROGRAM = os.path.join(os.path.dirname(STAGE), "bench", "native_calls")
AGENT = os.path.join(STAGE, "lib", "inferscope", "python", "inferscope", "_agent.abi3.so")

# name, words before the program, additions to the environment, is a recording on, goals
WAYS = [
    ("absent", [], {}, "0", {"counter": "<= 2", "mark": "<= 2", "scope": "<= 4"}),
    ("idle", [], {"INFERSCOPE_SESSION": "none", "INFERSCOPE_AGENT": AGENT}, "0",
     {"counter": "<= 2", "mark": "<= 2", "scope": "<= 4"}),
    ("recording", [BINARY, "run", "--quiet", "--no-trace", "--report", "report.json", "--"], {},
     "1", {}),
]


def main():
    plain = {name: value for name, value in os.environ.items()
             if not name.startswith("INFERSCOPE_")}
    for name, before, more, recording, goals in WAYS:
        with tempfile.TemporaryDirectory() as folder:
            words = subprocess.run(before + [PROGRAM], cwd=folder, env={**plain, **more},
                                   stdout=subprocess.PIPE, text=True, check=True).stdout.split()
        if words[0] != recording:
            raise SystemExit("the measurement was not made as meant: %s" % words)
        for call, value in zip(("counter", "mark", "scope"), words[1:]):
            print("native.%s.%s %s ns %s" % (name, call, value, goals.get(call, "")))


main()
