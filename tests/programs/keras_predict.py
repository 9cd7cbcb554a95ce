"""Keras: model.predict() for one sample at a time."""
import argparse
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras  # noqa: E402
import numpy as np  # noqa: E402

import clock  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true", help="batches of 32")
options = parser.parse_args()


def main():
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(128, "relu"),
                              keras.layers.Dense(128, "relu"), keras.layers.Dense(4, "softmax")])
    rows = np.random.default_rng(1).random((96, 64)).astype(np.float32)
    size = 32 if options.fixed else 1
    took, total = [], 0
    for first in range(0, len(rows), size):
        begin = time.perf_counter()
        total += len(model.predict(rows[first:first + size], verbose=0))
        took.append(time.perf_counter() - begin)
    clock.write("call", took)
    print("rows:", total)


main()
