"""What each recorder leaves of the same run; --stacks adds torch.profiler with Python stacks:
gigabytes, minutes.

    tests/gpu/sizes.py [--stacks] [--out DIR] [word ...]

Prints lines of the protocol of bench/README.md.
"""

import argparse
import collections
import os
import shutil
import sys
import tempfile

import kit
import overhead
from overhead import Stuck, Variant

Workload = collections.namedtuple("Workload", "name once needs gpu", defaults=(True,))

WORKLOADS = [
    Workload("gpu_bound", ["encoder.py", "--steps", "24"], ["torch"]),
    Workload("launch_bound", ["gpt2_decode.py", "--tokens", "40", "--requests", "3"],
             ["torch", "transformers"]),
]

# The whole GPU timeline, whatever it costs.
GPU = Variant("gpu", ["--no-cpu", "--max-overhead", "100"])
RECORDERS = [GPU, Variant("default", []), Variant("torch_profiler", profiler=["--cpu"])]
WITH_STACKS = Variant("torch_profiler_stacks", profiler=["--cpu", "--stacks"])
# (ours, theirs, goal)
COMPARED = [("gpu", "torch_profiler", " <= 0.05"), ("default", "torch_profiler", ""),
            ("default", "torch_profiler_stacks", "")]


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
    folder = tempfile.mkdtemp(prefix="inferscope-sizes-")
    try:
        return measure_sizes(workload, RECORDERS + [WITH_STACKS] * args.stacks, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def summarize(workload, sizes):
    for name, size in sizes.items():
        yield "bytes.%s.%s %d B" % (workload.name, name, size)
    for ours, theirs, goal in COMPARED:
        if theirs in sizes:
            yield "size.%s.%s %.4f of_%s%s" % (workload.name, ours, sizes[ours] / sizes[theirs],
                                               theirs, goal)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stacks", action="store_true", help="those with Python stacks as well")
    parser.add_argument("--out", default=os.environ.get("OUT"), help="where results are kept")
    parser.add_argument("words", nargs="*", help="only workloads whose name contains one of these")
    args = parser.parse_args()
    return overhead.run_workloads("sizes", WORKLOADS, args,
                                  lambda workload: measure(workload, args), summarize)


if __name__ == "__main__":
    sys.exit(main())
