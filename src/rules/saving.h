/*
 * What a step would be shorter by, and how far that may be off.
 *
 * Of what a fix brings six things are unknown, and nothing else goes into the interval:
 *
 * - Which steps were recorded.  The mean of the cause's time is taken again and again over steps
 *   that are drawn, with repetition, from those there are, in blocks that follow each other,
 *   because neighbours are alike (moving-block bootstrap).
 * - What samples stand for, where the time of a class is by samples: their own statistical error.
 * - What else differs between two runs.  The fixed program is another one.  What is left of its
 *   steps differs from this run's as the means of tenths of this run do from each other, and by
 *   what steady runs differ (docs/DIFF.md).
 * - How well a replay explains the steps, where the saving is by one (replay/replay.h).
 * - How much of what the cause holds up goes with it.  A rule says between what that lies; any of
 *   it is as likely.
 * - Which fix somebody chooses, and what else it changes: measured on programs that were fixed.
 */
#ifndef RULES_SAVING_H
#define RULES_SAVING_H

#include "analyze/figures/breakdown.h"

#define SAVING_LEVEL 0.80 /* of the intervals */

/*
 * Standard deviation of what fixes saved from what was predicted, where a share s of the step
 * counts as sqrt(s (1 - s)).  Measured on the 21 programs of examples/bottlenecks; `make accuracy`
 * (scripts/savings.py) measures it again.
 */
#define SAVING_FIX_SPREAD 0.15

/* What is known of a saving, in ms of a step. */
struct saving_basis {
	double least_ms, most_ms;
	double claims_ms[TIME_CLASSES]; /* what of each class it is made of */
	double replay_error; /* of an unchanged replay: median, as a share of the step; 0: none */
};

struct saving_interval {
	double ms, low_ms, high_ms;
};

/* The same for the same steps, always. */
struct saving_interval saving_interval(const struct step_breakdown *b,
				       const struct saving_basis *basis);

#endif
