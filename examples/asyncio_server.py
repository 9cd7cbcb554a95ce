"""Serves interleaved requests in one asyncio loop, each with its own latency.

Every request is a task: it waits for its turn, looks something up, computes a
little and replies, while all the others do the same.  A scope belongs to the
task that opened it, so each request's scope shows its own latency.

The latencies that the program measured itself go to --latencies FILE, to be
held against those of the report.

    inferscope run examples/asyncio_server.py --requests 100
"""

import argparse
import asyncio
import hashlib
import json
import random
import time

try:
    from inferscope import mark_event, scope
except ImportError:  # started without `inferscope run` and not installed
    from contextlib import asynccontextmanager

    @asynccontextmanager
    async def scope(name, **metadata):
        yield

    def mark_event(name, **metadata):
        pass


def digest(payload, rounds):
    for _ in range(rounds):
        payload = hashlib.sha256(payload).digest()
    return payload.hex()


async def lookup(delay):
    async with scope("lookup"):
        await asyncio.sleep(delay)


async def compute(request_id, rounds):
    async with scope("compute"):
        answer = digest(str(request_id).encode(), rounds)
        await asyncio.sleep(0)
        return answer


async def serve(request_id, delays, slots, latencies_ms):
    """One request; its latency is measured inside the scope, as closely as Python can."""
    async with scope("request", id=request_id):
        start = time.perf_counter()
        async with slots:
            for delay in delays:
                await lookup(delay)
                await compute(request_id, rounds=200)
        latencies_ms[request_id] = 1000 * (time.perf_counter() - start)


async def serve_all(args):
    rng = random.Random(args.seed)
    slots = asyncio.Semaphore(args.slots)
    latencies_ms = {}
    requests = [serve(i, [rng.uniform(0.001, 0.02) for _ in range(rng.randint(1, 4))], slots,
                      latencies_ms)
                for i in range(args.requests)]
    mark_event("accepting", requests=len(requests))
    await asyncio.gather(*requests)
    return latencies_ms


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--requests", type=int, default=100, metavar="N")
    parser.add_argument("--slots", type=int, default=40, metavar="N", help="served at a time")
    parser.add_argument("--seed", type=int, default=3, metavar="N")
    parser.add_argument("--latencies", metavar="FILE", help="write the latencies as JSON, by id")
    args = parser.parse_args()
    if args.requests < 1 or args.slots < 1:
        parser.error("--requests and --slots must be at least 1")

    latencies_ms = asyncio.run(serve_all(args))
    ordered = sorted(latencies_ms.values())
    print("%d requests, median %.1f ms, slowest %.1f ms"
          % (len(ordered), ordered[len(ordered) // 2], ordered[-1]))
    if args.latencies:
        with open(args.latencies, "w", encoding="utf-8") as file:
            json.dump(latencies_ms, file)


if __name__ == "__main__":
    main()
