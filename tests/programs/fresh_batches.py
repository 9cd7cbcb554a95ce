"""NumPy: every batch is stacked into new memory of tens of megabytes."""
import argparse
import time

import numpy as np

import clock

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true", help="one buffer for all batches")
options = parser.parse_args()


class Batches:
    def __init__(self, images):
        self.images = images
        shape = (len(images),) + images[0].shape
        self.buffer = np.zeros(shape, np.float32) if options.fixed else None

    def next(self):
        return np.stack(self.images, out=self.buffer)


def main():
    images = [np.full((3, 512, 512), i, np.float32) for i in range(24)]
    batches = Batches(images)
    took, total = [], 0.0
    for _ in range(160):
        begin = time.perf_counter()
        total += float(batches.next()[:, 0, 0, 0].sum())
        took.append(time.perf_counter() - begin)
    clock.write("batch", took)
    print("sum: %.1f" % total)


main()
