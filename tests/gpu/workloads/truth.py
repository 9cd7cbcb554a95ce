"""What a workload knows about itself, told in one JSON line: the last of its output.

The checks hold a recording against these facts, so they come from the program
alone: what it asked for, what CUDA events measured, what it computed.
"""

import contextlib
import hashlib
import json
import os
import sys
import time

try:
    from inferscope import scope
except ImportError:
    scope = contextlib.nullcontext  # takes the name as well, and does nothing with it

__all__ = ["Stopwatch", "copy", "digest", "dynamo", "libraries", "scope", "serve", "tell"]


def libraries(word):
    """Files mapped into this process whose name contains the word."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        paths = {line.split(None, 5)[5].strip() for line in maps if line.count("/") > 1}
    return sorted(path for path in paths if word in os.path.basename(path))


def digest(*tensors):
    """Of the bits of tensors that are on the CPU."""
    import torch

    state = hashlib.sha256()
    for tensor in tensors:
        state.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return state.hexdigest()


def copy(direction, source, destination, count, nbytes):
    """Copies of one kind: how many, and their bytes together."""
    return {"direction": direction, "source": source, "destination": destination,
            "count": count, "bytes": nbytes}


def dynamo():
    """What torch.compile did: each compilation (of a frame, and the how manieth), and its counters.
    Those of code generation are left out: they depend on caches and threads."""
    from torch._dynamo.utils import counters, get_compilation_metrics

    return {"compilations": [metrics.compile_id for metrics in get_compilation_metrics()
                             if not metrics.is_runtime],
            "counters": {"%s: %s" % (group, name): count for group, its in counters.items()
                         if group != "inductor" for name, count in its.items()}}


class Stopwatch:
    """Time on a stream by CUDA events; by the host's clock where the device is the CPU."""

    def __init__(self, device="cuda", stream=None):
        self.device, self.stream, self.marks = device, stream, []

    def mark(self):
        if self.device == "cpu":
            self.marks.append(time.perf_counter())
            return
        import torch

        event = torch.cuda.Event(enable_timing=True)
        event.record(self.stream or torch.cuda.current_stream())
        self.marks.append(event)

    def ms(self, first=0, last=-1):
        """Between two marks; their stream has been waited for."""
        first, last = self.marks[first], self.marks[last]
        return 1e3 * (last - first) if self.device == "cpu" else first.elapsed_time(last)


def tell(workload, **facts):
    facts.update(workload=workload, cupti=libraries("libcupti"))
    print(json.dumps(facts), flush=True)


def serve(warm_up, block):
    """For benchmarks: for each line "go" on standard input it warms up, runs a block, and answers
    with its seconds, and those of all work so far, in JSON.

    So one start-up serves many measurements, and several processes can take turns; this thread
    does, but none of those that it has started, on the core WORKLOAD_CORE, if that is set.
    """
    if os.environ.get("WORKLOAD_CORE"):
        os.sched_setaffinity(0, {int(os.environ["WORKLOAD_CORE"])})
    print(json.dumps({"ready": True}), flush=True)
    worked = 0
    for line in sys.stdin:
        if line.strip() != "go":
            break
        began = time.perf_counter()
        warm_up()
        seconds = block()
        worked += time.perf_counter() - began
        print(json.dumps({"seconds": seconds, "worked": worked}), flush=True)
