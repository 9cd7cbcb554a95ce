"""A program's own clock: the duration of each step, appended to the file $PROGRAM_CLOCK.

Without that variable a summary goes to standard error.  One JSON line for each process and kind of
step, so that the workers of a server can share the file.
"""

import json
import os
import sys


def write(what, seconds):
    """Called once, after the last step."""
    path = os.environ.get("PROGRAM_CLOCK")
    if path:
        line = {"what": what, "pid": os.getpid(), "ms": [round(1e3 * s, 4) for s in seconds]}
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
    else:
        mean_ms = 1e3 * sum(seconds) / max(1, len(seconds))
        summary = {"what": what, "steps": len(seconds), "mean_ms": round(mean_ms, 4)}
        print(json.dumps(summary), file=sys.stderr)
