"""What the programs of this folder share: their options, their clock and their last line.

The last line of the output is JSON: how long a step took once warm, and a digest of the answers
to the first requests, which are the same in the slow and the fixed variant.
"""

import argparse
import hashlib
import json
import os
import sys
import time

import torch

WARM_UP = 3  # steps that are not timed
DIGESTED = 4  # steps whose answers are in the digest; every run gets that far


def options(description, steps, cpu_steps=None):
    """Parses the command line.  Without cpu_steps the program makes no sense without a GPU."""
    parser = argparse.ArgumentParser(description=description.split("\n")[0])
    parser.add_argument("--fixed", action="store_true", help="the variant without the bottleneck")
    parser.add_argument("--device", choices=["cuda", "cpu"],
                        default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--steps", type=int, metavar="N", help="at most so many requests")
    parser.add_argument("--seconds", type=float, default=5, metavar="S",
                        help="once warm, begin no further request after so long")
    args = parser.parse_args()
    if args.device == "cpu" and cpu_steps is None:
        parser.error("this program needs a GPU")
    if args.steps is None:
        args.steps = steps if args.device == "cuda" else cpu_steps
    if args.steps <= max(WARM_UP, DIGESTED):
        parser.error("--steps must be at least %d" % (1 + max(WARM_UP, DIGESTED)))
    args.on_gpu = args.device == "cuda"
    args.dtype = torch.bfloat16 if args.on_gpu else torch.float32
    if not args.on_gpu:
        torch.set_num_threads(1)  # as with one worker per core
    torch.manual_seed(0)
    return args


class Clock:
    """Times steps: after each of them the program calls step() with the answers."""

    def __init__(self, args):
        self.args = args
        self.count = 0
        self.answers = hashlib.sha256()
        self.warm = None

    def now(self):
        if self.args.on_gpu:
            torch.cuda.synchronize()
        return time.perf_counter()

    def step(self, answers):
        """True when it was the last one."""
        self.count += 1
        if self.count <= DIGESTED:
            self.answers.update(repr(answers).encode())
        if self.count == WARM_UP:
            self.warm = self.now()
        if self.count <= max(WARM_UP, DIGESTED):
            return False
        return (self.count >= self.args.steps
                or time.perf_counter() - self.warm > self.args.seconds)

    def finish(self):
        seconds = self.now() - self.warm
        timed = self.count - WARM_UP
        print(json.dumps({
            "program": os.path.splitext(os.path.basename(sys.argv[0]))[0],
            "variant": "fixed" if self.args.fixed else "slow", "device": self.args.device,
            "steps": self.count, "ms_per_step": round(1000 * seconds / timed, 4),
            "steps_per_s": round(timed / seconds, 2), "digest": self.answers.hexdigest()[:16]}))
