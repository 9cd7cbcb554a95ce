"""gensim: the nearest words of each query, by one product of the whole matrix for each."""
import argparse
import time

import numpy as np
from gensim.models import KeyedVectors

import clock

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true", help="one product for 64 queries")
options = parser.parse_args()


def main():
    random = np.random.default_rng(1)
    words = ["w%d" % i for i in range(60000)]
    vectors = KeyedVectors(100)
    vectors.add_vectors(words, random.standard_normal((len(words), 100)).astype(np.float32))
    vectors.fill_norms()
    queries = words[:512]
    took, total = [], 0
    if options.fixed:
        rows = vectors.get_normed_vectors()
        for first in range(0, len(queries), 64):
            begin = time.perf_counter()
            near = rows[first:first + 64] @ rows.T
            total += np.argpartition(near, -11)[:, -11:].shape[0]
            took.append(time.perf_counter() - begin)
    else:
        for query in queries:
            begin = time.perf_counter()
            total += bool(vectors.most_similar(query, topn=10))
            took.append(time.perf_counter() - begin)
    clock.write("query", took)
    print("queries:", total)


main()
