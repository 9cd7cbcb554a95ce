"""torch: four worker processes, each with four OpenMP threads, on a machine with few CPUs.

    omp_workers.py           OMP_NUM_THREADS=1: one thread each
"""
import multiprocessing
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "4")

import torch  # noqa: E402
from torch import nn  # noqa: E402

import clock  # noqa: E402


def work(number):
    torch.manual_seed(number)
    network = nn.Sequential(*[layer for _ in range(6)
                              for layer in (nn.Linear(512, 512), nn.ReLU())]).eval()
    took, total = [], 0
    with torch.inference_mode():
        for _ in range(60):
            rows = torch.rand(64, 512)
            begin = time.perf_counter()
            total += len(network(rows).argmax(1))
            took.append(time.perf_counter() - begin)
    clock.write("batch", took)
    return total


def main():
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        print("rows:", sum(pool.map(work, range(4), chunksize=1)))
        pool.close()
        pool.join()


if __name__ == "__main__":
    main()
