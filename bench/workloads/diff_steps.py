"""A program for bench/diff_study.py: 400 steps in Python or in native code.

The second argument makes each step longer by so many percent.
"""

import hashlib
import sys
import zlib

import inferscope

STEPS = 400
ROWS = 300
DATA = bytes(range(256)) * 2000
WEIGHTS = [[((i * 31 + j * 17) % 13 - 6) / 7 for j in range(100)] for i in range(ROWS)]


def dense(rows, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in rows]


def in_python(step, percent):
    vector = [((step + j) % 5) / 5 for j in range(100)]
    dense(WEIGHTS, vector)
    if percent:
        dense(WEIGHTS[:ROWS * percent // 100], vector)


def in_native_code(step, percent):
    hashlib.sha256(DATA).digest()
    zlib.compress(DATA[step % 100:], 1)
    if percent:
        hashlib.sha256(DATA[:len(DATA) * percent // 40]).digest()


def main():
    step = {"python": in_python, "native": in_native_code}[sys.argv[1]]
    percent = int(sys.argv[2])
    for i in range(STEPS):
        with inferscope.scope("infer"):
            step(i, percent)


main()
