"""JAX: a jitted function meets a new length in nearly every call, and is compiled again."""
import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np

import clock

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true", help="texts are padded to one length")
options = parser.parse_args()

weights = [jnp.asarray(np.random.default_rng(i).standard_normal((64, 64)) / 8, jnp.float32)
           for i in range(4)]


@jax.jit
def score(tokens, mask):
    x = jnp.sin(tokens[:, None] * jnp.arange(64))
    for weight in weights:
        x = jax.nn.gelu(x @ weight)
    return (x.mean(1) * mask).sum() / mask.sum()


def respond(length):
    size = 128 if options.fixed else length
    tokens = np.zeros(size, np.float32)
    tokens[:length] = np.arange(length)
    mask = (np.arange(size) < length).astype(np.float32)
    return float(score(tokens, mask))


def main():
    took, total = [], 0.0
    for number in range(40):
        begin = time.perf_counter()
        total += respond(16 + number)
        took.append(time.perf_counter() - begin)
    clock.write("text", took)
    print("finite:", np.isfinite(total))


main()
