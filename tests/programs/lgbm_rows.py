"""LightGBM: scores orders as they come, one row a call."""
import argparse
import time

import lightgbm
import numpy as np

import clock

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true", help="128 rows a call")
options = parser.parse_args()


def main():
    random = np.random.default_rng(1)
    rows = random.random((10240, 20))
    booster = lightgbm.train({"objective": "regression", "num_leaves": 31, "verbose": -1,
                              "num_threads": 1}, lightgbm.Dataset(rows, rows[:, 0]), 60)
    size = 128 if options.fixed else 1
    took, total = [], 0.0
    for first in range(0, len(rows), size):
        begin = time.perf_counter()
        total += float(booster.predict(rows[first:first + size], num_threads=1).sum())
        took.append(time.perf_counter() - begin)
    clock.write("call", took)
    print("sum: %.2f" % total)


main()
