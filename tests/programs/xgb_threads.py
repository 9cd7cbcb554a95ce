"""XGBoost: sixteen threads for each small prediction, on a machine with few CPUs."""
import argparse
import time

import numpy as np
import xgboost

import clock

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true", help="one thread")
options = parser.parse_args()


def main():
    random = np.random.default_rng(1)
    rows = random.random((2000, 20))
    booster = xgboost.train({"max_depth": 6, "nthread": 2, "verbosity": 0},
                            xgboost.DMatrix(rows, rows[:, 0] * rows[:, 1]), 100)
    booster.set_param({"nthread": 1 if options.fixed else 16})
    took, total = [], 0.0
    for number in range(250):
        block = rows[number:number + 64]
        begin = time.perf_counter()
        total += float(booster.inplace_predict(block).sum())
        took.append(time.perf_counter() - begin)
    clock.write("block", took)
    print("sum: %.2f" % total)


main()
