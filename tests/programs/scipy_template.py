"""SciPy: searches a mark in scans with the direct method instead of by FFT."""
import argparse
import time

import numpy as np
from scipy import signal

import clock

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true", help="by FFT")
options = parser.parse_args()


def find(scan, mark):
    match = signal.correlate(scan, mark, mode="same", method="fft" if options.fixed else "direct")
    return np.unravel_index(match.argmax(), match.shape)


def main():
    random = np.random.default_rng(1)
    mark = random.standard_normal((24, 24)).astype(np.float32)
    took, total = [], 0
    for number in range(12):
        scan = random.standard_normal((256, 256)).astype(np.float32)
        scan[number:number + 24, 100:124] += 3 * mark
        begin = time.perf_counter()
        total += int(find(scan, mark)[0])
        took.append(time.perf_counter() - begin)
    clock.write("scan", took)
    print("rows:", total)


main()
