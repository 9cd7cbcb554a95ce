"""Finds unusual log lines: generators, each pulling from the one before.

    log_anomaly.py [--fixed]
"""

import itertools
import random
import sys
import time

import numpy as np
import torch

BUCKETS = 2048
BATCH = 64


def log_lines(count):
    rng = random.Random(4)
    hosts = [f"web-{number:02d}" for number in range(20)]
    verbs = ["GET", "PUT", "POST", "DELETE"]
    for number in range(count):
        yield (
            f"2024-05-{number % 28 + 1:02d} {rng.choice(hosts)} {rng.choice(verbs)} "
            f"/item/{rng.randrange(10**6)} {rng.choice([200, 200, 404, 500])} "
            f"{rng.randrange(3000)}ms agent={rng.getrandbits(60):x}"
        )


def strip_dates(lines):
    for line in lines:
        yield line.split(" ", 1)[1]


def trigram_counts(lines):
    for line in lines:
        counts = [0.0] * BUCKETS
        for position in range(len(line) - 2):
            code = 0
            for letter in line[position : position + 3]:
                code = (code * 257 + ord(letter)) % 1000003
            counts[code % BUCKETS] += 1.0
        norm = sum(value * value for value in counts) ** 0.5
        yield [value / norm for value in counts]


def trigram_counts_fast(lines):
    for line in lines:
        letters = np.frombuffer(line.encode(), np.uint8).astype(np.int64)
        codes = ((letters[:-2] * 257 + letters[1:-1]) * 257 + letters[2:]) % 1000003 % BUCKETS
        counts = np.bincount(codes, minlength=BUCKETS).astype(np.float32)
        yield counts / np.linalg.norm(counts)


def in_batches(rows, size):
    rows = iter(rows)
    while chunk := list(itertools.islice(rows, size)):
        yield torch.from_numpy(np.array(chunk, np.float32))


def anomaly_scores(batches, model):
    for batch in batches:
        yield (model(batch) - batch).square().mean(1)


def main(fixed):
    torch.manual_seed(4)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(
        torch.nn.Linear(BUCKETS, 512), torch.nn.ReLU(), torch.nn.Linear(512, BUCKETS)
    ).eval()
    featurize = trigram_counts_fast if fixed else trigram_counts
    pipeline = anomaly_scores(in_batches(featurize(strip_dates(log_lines(9600))), BATCH), model)
    began = time.perf_counter()
    batches, worst = 0, 0.0
    with torch.inference_mode():
        for scores in pipeline:
            worst = max(worst, scores.max().item())
            batches += 1
    took = time.perf_counter() - began
    print(f"worst {worst:.6f}")
    print(f"{batches} batches of {1e3 * took / batches:.2f} ms: {batches / took:.2f} steps/s")


if __name__ == "__main__":
    main("--fixed" in sys.argv)
