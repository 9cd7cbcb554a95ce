"""multiprocessing: a pool of two counts words of reviews in Python for a quick model."""
import multiprocessing
import time

import numpy as np
from sklearn.linear_model import LogisticRegression
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

import clock

analyzer = SentimentIntensityAnalyzer()
WORDS = "good bad great awful nice slow room food staff loud clean dirty not very hotel".split()


def review(number):
    return " ".join(WORDS[(number * 7 + i * i) % len(WORDS)] for i in range(60))


def features(texts):
    rows = []
    for text in texts:
        scores = analyzer.polarity_scores(text)
        rows.append([scores["neg"], scores["neu"], scores["pos"], scores["compound"]])
    return np.array(rows)


def main():
    random = np.random.default_rng(1)
    model = LogisticRegression().fit(random.random((200, 4)), random.integers(0, 2, 200))
    blocks = [[review(i * 16 + j) for j in range(16)] for i in range(200)]
    took, total = [], 0
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        begin = time.perf_counter()
        for rows in pool.imap(features, blocks):
            total += int(model.predict(rows).sum())
            end = time.perf_counter()
            took.append(end - begin)
            begin = end
        pool.close()
        pool.join()
    clock.write("block", took[1:])  # the first one waits for the workers to start
    print("good:", total)


if __name__ == "__main__":
    main()
