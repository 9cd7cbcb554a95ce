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

__all__ = ["Stopwatch", "copy", "digest", "libraries", "scope", "serve", "tell"]


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
    """For benchmarks: each line "go" on standard input runs both; block()'s seconds are the answer.

    So one start-up serves many measurements, and several processes can take turns.
    """
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        if line.strip() != "go":
            break
        warm_up()
        print(json.dumps({"seconds": block()}), flush=True)
