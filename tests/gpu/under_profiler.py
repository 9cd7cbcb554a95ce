"""Runs a script under torch.profiler and leaves what that saw.

    under_profiler.py [--counts FILE] [--chrome FILE] [--cpu] [--layers] [--stacks]
                      script.py [args]

Exit status and output are the script's own.
"""

import argparse
import json
import os
import runpy
import sys
import tempfile

import gpu_events


def run(path, arguments):
    """The script as __main__; returns its exit status."""
    sys.argv = [path] + arguments
    sys.path[0] = os.path.dirname(os.path.abspath(path))
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as end:
        return end.code
    return 0


def annotate_modules():
    """Each call of a module is a range of its class from here on."""
    from torch.nn import Module
    from torch.profiler import record_function

    plain = Module.__call__

    def annotated(self, *args, **kwargs):
        with record_function(gpu_events.LAYER + type(self).__name__):
            return plain(self, *args, **kwargs)
    Module.__call__ = annotated


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counts", help="write the counts of GPU activities there, as JSON")
    parser.add_argument("--chrome", help="keep the profiler's own export there")
    parser.add_argument("--cpu", action="store_true", help="record operators of the CPU as well")
    parser.add_argument("--layers", action="store_true", help="count kernels by module as well")
    parser.add_argument("--stacks", action="store_true", help="record Python functions as well")
    parser.add_argument("script")
    parser.add_argument("args", nargs=argparse.REMAINDER)
    args = parser.parse_args()

    import torch
    from torch.profiler import ProfilerActivity, profile

    if torch.cuda.is_available():
        torch.cuda.synchronize()  # makes the context: a profiler that starts without one is late
    activities = [ProfilerActivity.CUDA] + [ProfilerActivity.CPU] * (args.cpu or args.layers)
    if args.layers:
        annotate_modules()
    with profile(activities=activities, with_stack=args.stacks) as profiler:
        status = run(args.script, args.args)
    with tempfile.TemporaryDirectory() as folder:
        chrome = args.chrome or os.path.join(folder, "trace.json")
        profiler.export_chrome_trace(chrome)
        if args.counts:
            with open(chrome, encoding="utf-8") as file:
                trace = json.load(file)
            counts = gpu_events.counts_of_kineto(trace)
            if args.layers:
                counts = counts._replace(layers=gpu_events.layers_of_kineto(trace))
            gpu_events.write_counts(counts, args.counts)
    return status


if __name__ == "__main__":
    sys.exit(main())
