"""A jitted MLP in JAX: each request builds its features in Python before the short GPU work."""

import argparse
import json
import time

import jax
import jax.numpy as jnp
import numpy as np

WIDTH = 512


def weights(key):
    return [jax.random.normal(each, (WIDTH, WIDTH)) * 0.04 for each in jax.random.split(key, 6)]


@jax.jit
def mlp(layers, features):
    for layer in layers:
        features = jax.nn.relu(features @ layer)
    return features.sum(1)


def features(words):
    rows = np.zeros((64, WIDTH), np.float32)
    for row, word in enumerate(words):
        for place, letter in enumerate(word):  # <- slow
            rows[row, (ord(letter) * 31 + place * 7) % WIDTH] += 1.0
    return rows


def respond(layers, words, table):
    return float(mlp(layers, jnp.asarray(features(words) if table is None else table))[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true", help="the features are there already")
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    layers = weights(jax.random.PRNGKey(0))
    words = ["request number %d of this service, with a text" % (n % 10) for n in range(64)]
    table = features(words) if args.fixed else None
    first = respond(layers, words, table)
    steps, start = 0, time.perf_counter()
    while steps < 20 or time.perf_counter() - start < args.seconds:
        respond(layers, words, table)
        steps += 1
    took = time.perf_counter() - start
    print(json.dumps({"digest": round(first, 3), "steps": steps,
                      "ms_per_step": took * 1000 / steps}))


if __name__ == "__main__":
    main()
