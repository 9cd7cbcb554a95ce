"""TensorFlow: a tf.function gets Python numbers, and is traced again for each."""
import argparse
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

import clock  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true", help="the number is a tensor")
options = parser.parse_args()

weights = [tf.constant(np.random.default_rng(i).standard_normal((128, 128)) / 11, tf.float32)
           for i in range(12)]


@tf.function
def score(x, temperature):
    for weight in weights:
        x = tf.nn.gelu(x @ weight)
    return tf.reduce_sum(tf.nn.softmax(x / temperature))


def respond(x, temperature):
    return float(score(x, tf.constant(temperature) if options.fixed else temperature))


def main():
    x = tf.ones((8, 128))
    took, total = [], 0.0
    for number in range(80):
        begin = time.perf_counter()
        total += respond(x, 0.5 + number / 100)
        took.append(time.perf_counter() - begin)
    clock.write("request", took)
    print("sum: %.1f" % total)


main()
