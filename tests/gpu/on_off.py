"""What recording the GPU costs, switched on and off in one process; torch.profiler likewise.

Two processes of each workload take turns: one is recorded by `inferscope run --no-cpu`, the
other switches torch.profiler.  Each runs short blocks in pairs, one of them recorded, so that
neighbours in time are compared and nothing else differs.  With --sizes also what each recorder
leaves of the same run; --stacks adds torch.profiler with Python stacks: gigabytes, minutes.

    tests/gpu/on_off.py [--batches N] [--sizes [--stacks]] [--out DIR] [word ...]

Prints lines of the protocol of bench/README.md.
"""

import argparse
import collections
import os
import shutil
import statistics
import sys
import tempfile

import kit
import overhead
from overhead import Stuck, Variant, paired

# pairs: of short blocks in a batch.  torch.profiler takes its time to start, so it has fewer.
Workload = collections.namedtuple("Workload", "name serve once goal pairs needs gpu",
                                  defaults=(True,))
PROFILER_PAIRS = 2

WORKLOADS = [
    Workload("gpu_bound", ["encoder.py", "--serve", "--steps", "2"],
             ["encoder.py", "--steps", "24"], 1.02, 8, ["torch"]),
    Workload("launch_bound", ["gpt2_decode.py", "--serve", "--tokens", "4"],
             # Off, CUPTI is left, so this is what CUPTI costs: overhead.py has the goal.
             ["gpt2_decode.py", "--tokens", "40", "--requests", "3"], None,
             30, ["torch", "transformers"]),
]

# The whole GPU timeline, whatever it costs.
GPU = Variant("gpu", ["--no-cpu", "--max-overhead", "100"])
RECORDERS = [GPU, Variant("default", []), Variant("torch_profiler", profiler=["--cpu"])]
WITH_STACKS = Variant("torch_profiler_stacks", profiler=["--cpu", "--stacks"])
# (ours, theirs, goal)
COMPARED = [("gpu", "torch_profiler", " <= 0.05"), ("default", "torch_profiler", ""),
            ("default", "torch_profiler_stacks", "")]


class Switching(overhead.Runner):
    """A process that measures pairs of itself."""

    def __init__(self, switch, count, variant, command, folder):
        super().__init__(variant, command, folder)
        self.switch, self.count, self.pairs = switch, count, []

    def ask(self):
        self.process.stdin.write(b"pairs %s %d\n" % (self.switch.encode(), self.count))
        self.process.stdin.flush()
        return self.answer(overhead.BLOCK_S)["pairs"]


def measure_pairs(workload, batches, folder):
    """{switch: [(seconds off, seconds on), ...]}"""
    command = [kit.script(workload.serve[0])] + workload.serve[1:]
    runners = []
    try:
        runners.append(Switching("agent", workload.pairs, GPU, command, folder))
        runners.append(Switching("profiler", PROFILER_PAIRS, Variant("plain"), command,
                                 folder))
        for runner in runners:
            runner.answer(overhead.START_S)
        for nth in range(batches + 1):
            for runner in runners[::-1] if nth % 2 else runners:
                pairs = runner.ask()
                runner.pairs += pairs if nth else []  # the first batch warms up
        return {runner.switch: runner.pairs for runner in runners}
    finally:
        for runner in runners:
            runner.close()


def measure_sizes(workload, recorders, folder):
    """{recorder: bytes} of the same run."""
    command = [kit.script(workload.once[0])] + workload.once[1:]
    sizes = {}
    for variant in recorders:
        done = kit.execute(variant.arguments(command, folder), 120, cwd=folder)
        if done.status:
            raise Stuck("%s: status %s, %s" % (variant.name, done.status, done.stderr[-200:]))
        sizes[variant.name] = os.path.getsize(variant.product(folder))
    return sizes


def measure(workload, args):
    folder = tempfile.mkdtemp(prefix="inferscope-on-off-")
    try:
        recorders = RECORDERS * args.sizes + [WITH_STACKS] * args.stacks
        return {"pairs": measure_pairs(workload, args.batches, folder),
                "sizes": measure_sizes(workload, recorders, folder)}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def summarize(workload, measured):
    pairs, sizes = measured["pairs"], measured["sizes"]
    ours = " <= %s" % workload.goal if workload.goal else ""
    for switch, goal in (("agent", ours), ("profiler", "")):
        ratio = paired.summarize(pairs[switch])
        name = "onoff.%s.%s" % (workload.name, "gpu" if switch == "agent" else "torch_profiler")
        yield "%s %.4f times%s" % (name, ratio.median, goal)
        yield "# %s: 95 %% interval %.4f .. %.4f; %d pairs of %.1f ms" % (
            name, ratio.low, ratio.high, len(pairs[switch]),
            1e3 * statistics.median(off for off, _ in pairs[switch]))
    for name, size in sizes.items():
        yield "bytes.%s.%s %d B" % (workload.name, name, size)
    for ours, theirs, goal in COMPARED:
        if theirs in sizes:
            yield "size.%s.%s %.4f of_%s%s" % (workload.name, ours, sizes[ours] / sizes[theirs],
                                               theirs, goal)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=10, help="of pairs, in turns")
    parser.add_argument("--sizes", action="store_true", help="of what each recorder leaves")
    parser.add_argument("--stacks", action="store_true", help="those with Python stacks as well")
    parser.add_argument("--out", default=os.environ.get("OUT"), help="where results are kept")
    parser.add_argument("words", nargs="*", help="only workloads whose name contains one of these")
    args = parser.parse_args()
    if args.batches * PROFILER_PAIRS < paired.MIN_PAIRS:
        parser.error("fewer than %d pairs say nothing" % paired.MIN_PAIRS)

    return overhead.run_workloads("onoff", WORKLOADS, args,
                                  lambda workload: measure(workload, args), summarize)


if __name__ == "__main__":
    sys.exit(main())
