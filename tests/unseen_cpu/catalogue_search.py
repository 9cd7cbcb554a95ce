"""Searches a shop's catalogue by meaning; the policies of a request are decorators.

    catalogue_search.py [--fixed]
"""

import functools
import gc
import random
import sys
import time

import torch

FIXED = "--fixed" in sys.argv
CALLS = {"ok": 0, "retried": 0}


def retrying(times):
    def wrap(function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            for attempt in range(times):
                try:
                    return function(*args, **kwargs)
                except TimeoutError:
                    CALLS["retried"] += 1
                    if attempt == times - 1:
                        raise

        return inner

    return wrap


def counted(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        result = function(*args, **kwargs)
        CALLS["ok"] += 1
        return result

    return inner


def tidy(function):
    """Leaves no garbage behind: the service had run out of memory once."""

    @functools.wraps(function)
    def inner(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        finally:
            if not FIXED:
                gc.collect()

    return inner


def validated(**kinds):
    def wrap(function):
        @functools.wraps(function)
        def inner(**kwargs):
            for name, kind in kinds.items():
                if not isinstance(kwargs[name], kind):
                    raise TypeError(name)
            return function(**kwargs)

        return inner

    return wrap


@functools.lru_cache(maxsize=None)
def catalogue():
    rng = random.Random(7)
    return [
        {
            "sku": number,
            "price": rng.randrange(10000) / 100,
            "tags": [f"t{rng.randrange(500)}", f"s{number % 50}"],
        }
        for number in range(100_000)
    ]


@functools.lru_cache(maxsize=None)
def network():
    torch.manual_seed(7)
    tower = torch.nn.Sequential(
        torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 96)
    )
    return tower.eval(), torch.randn(60_000, 96)


@tidy
@retrying(times=3)
@counted
@validated(query=torch.Tensor, count=int)
def search(query, count):
    tower, items = network()
    with torch.inference_mode():
        best = (items @ tower(query)).topk(count).indices.tolist()
    return min(catalogue()[number]["price"] for number in best)


def main():
    torch.set_num_threads(1)
    catalogue()
    network()
    generator = torch.Generator().manual_seed(8)
    queries = torch.randn(50, 256, generator=generator)
    total = 0.0
    began = time.perf_counter()
    for query in queries:
        total += search(query=query, count=20)
    took = time.perf_counter() - began
    count = len(queries)
    print(f"cheapest {total:.2f}, {CALLS['retried']} retried")
    print(f"{count} queries of {1e3 * took / count:.2f} ms: {count / took:.2f} steps/s")


main()
