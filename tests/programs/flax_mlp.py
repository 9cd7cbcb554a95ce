"""Flax: a jitted network on full batches; nothing to mend."""
import time

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen

import clock


class Network(linen.Module):
    @linen.compact
    def __call__(self, x):
        for _ in range(5):
            x = linen.relu(linen.Dense(1024)(x))
        return linen.Dense(10)(x)


def main():
    network = Network()
    x = np.random.default_rng(1).standard_normal((64, 512)).astype(np.float32)
    weights = network.init(jax.random.PRNGKey(0), x)
    apply = jax.jit(network.apply)
    apply(weights, x).block_until_ready()
    took, total = [], 0
    for _ in range(150):
        begin = time.perf_counter()
        total += int(jnp.argmax(apply(weights, x), 1).sum())
        took.append(time.perf_counter() - begin)
    clock.write("batch", took)
    print("batches:", len(took), total >= 0)


main()
