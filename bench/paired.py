"""Side by side measurements on noisy machines.

Two variants are timed in interleaved pairs, the order swapped from pair to
pair, so that slow drift of the machine hits both alike.  The result is the
median of the pairs' ratios with a 95 % bootstrap interval.

    ratio = paired.ratio(plain, recorded)
    print("%.3f (%.3f .. %.3f)" % ratio)
"""

import random
import statistics
import subprocess
import time
from collections import namedtuple

MIN_PAIRS = 15
RESAMPLES = 4000

Ratio = namedtuple("Ratio", "median low high")


def command(arguments, **keywords):
    """A variant that runs a command to its end; a failure is an exception."""
    def run():
        subprocess.run(arguments, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, **keywords)
    return run


def seconds(variant):
    start = time.perf_counter()
    variant()
    return time.perf_counter() - start


def measure(base, other, pairs=MIN_PAIRS):
    """Times of both variants, [(base, other), ...], after one warm-up of each."""
    if pairs < MIN_PAIRS:
        raise ValueError("fewer than %d pairs say nothing on a noisy machine" % MIN_PAIRS)
    base()
    other()
    return interleave(lambda: seconds(base), lambda: seconds(other), pairs)


def interleave(base, other, pairs):
    """What both functions return, [(base, other), ...], the order swapped from pair to pair."""
    results = []
    for nth in range(pairs):
        if nth % 2 == 0:
            first = base()
            results.append((first, other()))
        else:
            first = other()
            results.append((base(), first))
    return results


def order_of(nth, count):
    """Who comes when in a turn.  Over 2 * count turns each follows each other equally often, so
    that what a neighbour leaves behind (caches, clocks) is shared out evenly."""
    zigzag = [(step + 1) // 2 if step % 2 else count - step // 2 for step in range(count)]
    order = [(place + nth) % count for place in zigzag]
    return order[::-1] if nth // count % 2 else order


def summarize(times, seed=1):
    """The Ratio other / base of measured pairs; the same pairs give the same interval."""
    ratios = [other / base for base, other in times]
    rng = random.Random(seed)
    medians = sorted(statistics.median(rng.choices(ratios, k=len(ratios)))
                     for _ in range(RESAMPLES))
    return Ratio(statistics.median(ratios), medians[int(0.025 * RESAMPLES)],
                 medians[int(0.975 * RESAMPLES)])


def trimmed(times, seed=1):
    """The mean ratio without the tenth of the pairs at each end, as `median`, and its interval.
    For what comes and goes: a median would show all of it, or nothing."""
    ratios = [other / base for base, other in times]
    cut = len(ratios) // 10

    def mean(values):
        return statistics.fmean(sorted(values)[cut:len(values) - cut])

    rng = random.Random(seed)
    means = sorted(mean(rng.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES))
    return Ratio(mean(ratios), means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES)])


def ratio(base, other, pairs=MIN_PAIRS):
    return summarize(measure(base, other, pairs))
