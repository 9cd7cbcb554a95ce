#!/usr/bin/env python3
# Scores users against items whose vectors lie in one big file on disk.
#
#     row_gather.py [--fixed]
import os
import random
import sys
import tempfile
import time

import numpy as np
import torch

ROW = 1024  # floats
ROWS = 24_000
PER_STEP = 40
STEPS = 250


def write_table(path):
    rng = np.random.default_rng(9)
    block = rng.standard_normal((1000, ROW), dtype=np.float32)
    with open(path, "wb") as out:
        for number in range(ROWS // 1000):
            out.write((block + number / 100).tobytes())
        out.flush()
        os.fsync(out.fileno())


def open_cold(path):
    # As on the morning after the nightly job wrote it: not in the page cache.
    table = os.open(path, os.O_RDONLY)
    os.posix_fadvise(table, 0, 0, os.POSIX_FADV_DONTNEED)
    os.posix_fadvise(table, 0, 0, os.POSIX_FADV_RANDOM)
    return table


def gather(table, numbers):
    rows = []
    for number in numbers:
        rows.append(os.pread(table, ROW * 4, number * ROW * 4))
    return torch.frombuffer(bytearray(b"".join(rows)), dtype=torch.float32).view(-1, ROW)


def load_all(table):
    parts = []
    while part := os.read(table, 1 << 24):
        parts.append(part)
    return torch.frombuffer(bytearray(b"".join(parts)), dtype=torch.float32).view(-1, ROW)


torch.manual_seed(9)
torch.set_num_threads(1)
ranker = torch.nn.Sequential(
    torch.nn.Linear(ROW, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1)
).eval()
order = random.Random(9).sample(range(ROWS), PER_STEP * STEPS)
fixed = "--fixed" in sys.argv

with tempfile.TemporaryDirectory(dir=os.environ.get("TABLE_DIR")) as folder:
    path = os.path.join(folder, "items.f32")
    write_table(path)
    table = open_cold(path)
    memory = load_all(table) if fixed else None
    winners = 0
    began = time.perf_counter()
    for step in range(STEPS):
        numbers = order[step * PER_STEP : (step + 1) * PER_STEP]
        rows = memory[numbers] if fixed else gather(table, numbers)
        with torch.inference_mode():
            winners += numbers[ranker(rows).argmax().item()]
    took = time.perf_counter() - began
    os.close(table)
print("winners", winners)
print(f"{STEPS} steps of {1e3 * took / STEPS:.2f} ms: {STEPS / took:.2f} steps/s")
