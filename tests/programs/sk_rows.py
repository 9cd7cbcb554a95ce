"""scikit-learn: a random forest scores a stream of rows, one call of predict_proba for each."""
import argparse
import time

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

import clock

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true", help="score blocks of 64 rows")
options = parser.parse_args()

rows, labels = make_classification(4000, 20, random_state=3)
forest = RandomForestClassifier(60, max_depth=10, random_state=3).fit(rows[:2000], labels[:2000])
stream = rows[2000:3920]


def score(block):
    return forest.predict_proba(block)[:, 1]


def main():
    size = 64 if options.fixed else 1
    scores, took = [], []
    for first in range(0, len(stream), size):
        begin = time.perf_counter()
        scores.append(score(stream[first:first + size]))
        took.append(time.perf_counter() - begin)
    clock.write("block", took)
    print("fraud:", int((np.concatenate(scores) > 0.5).sum()), "of", len(stream))


main()
