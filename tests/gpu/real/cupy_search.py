"""A search in CuPy that sorts all scores of a query to return the ten best."""

import argparse
import json
import time

import cupy as cp

ROWS, WIDTH = 1 << 22, 16


def best(table, query, sort):
    scores = table @ query
    if sort:
        order = cp.argsort(-scores)[:10]  # <- slow
    else:
        order = cp.argpartition(-scores, 10)[:10]
        order = order[cp.argsort(-scores[order])]
    return cp.asnumpy(order)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true", help="a partition instead of a sort")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    some = cp.random.RandomState(0)
    table = some.standard_normal((ROWS, WIDTH), dtype=cp.float32)
    queries = some.standard_normal((16, WIDTH), dtype=cp.float32)
    first = best(table, queries[0], not args.fixed)
    steps, start = 0, time.perf_counter()
    while steps < 20 or time.perf_counter() - start < args.seconds:
        best(table, queries[steps % 16], not args.fixed)
        steps += 1
    took = time.perf_counter() - start
    print(json.dumps({"digest": [int(each) for each in first], "steps": steps,
                      "ms_per_step": took * 1000 / steps}))


if __name__ == "__main__":
    main()
