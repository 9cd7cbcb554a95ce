"""Spin kernels on two streams: first one after the other, then at the same time.

CUDA events say how long each stream's kernels took and how long both together
did; what the parts have more than the whole is their overlap.
"""

import argparse

import torch

import truth
from truth import Stopwatch, scope

CYCLES = 4_000_000  # about 2 ms
KERNELS = 5


def run(streams, chained):
    """Spins on both streams; True: the second begins when the first is done."""
    whole = Stopwatch()
    parts = [Stopwatch(stream=stream) for stream in streams]
    whole.mark()
    for nth, (stream, part) in enumerate(zip(streams, parts)):
        stream.wait_stream(streams[0] if chained and nth else torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            part.mark()
            for _ in range(KERNELS):
                torch.cuda._sleep(CYCLES)
            part.mark()
    for stream in streams:
        torch.cuda.current_stream().wait_stream(stream)
    whole.mark()
    torch.cuda.synchronize()
    alone = sum(part.ms() for part in parts)
    return {"ms": whole.ms(), "sum_ms": alone, "overlap_ms": max(0.0, alone - whole.ms())}


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    streams = [torch.cuda.Stream(), torch.cuda.Stream()]
    run(streams, True)  # warm-up
    with scope("chained"):
        chained = run(streams, True)
    with scope("together"):
        together = run(streams, False)
    truth.tell("two_streams", kernels=6 * KERNELS, chained=chained, together=together)


if __name__ == "__main__":
    main()
