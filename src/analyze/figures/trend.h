/*
 * Does something grow, or does it only seem to?
 *
 * A line through a few values: Theil and Sen's slope, the median of the slopes of all pairs,
 * which a quarter of values that are far off does not move, with the 95 % interval of Kendall's
 * test.  Values that hang together say less than as many that do not: the interval is as
 * wide as it would be with so many fewer of them (first-order autocorrelation of what
 * the line leaves over, corrected for its bias in short series).
 *
 * What a series does in the end is judged by its second half: memory that fills while a
 * program warms up and then stays is no leak.  It must also lie above the first half: else it may
 * be a single rise of something that comes and goes.  And where the first half grew faster it has
 * to be shown that the second one is at least half as fast: what fills ever more slowly (an
 * allocator on the way to its high-water mark, by leaps) may look like a line for a while.
 */
#ifndef ANALYZE_FIGURES_TREND_H
#define ANALYZE_FIGURES_TREND_H

#include <stdbool.h>
#include <stddef.h>

#define TREND_VALUES_MIN ((size_t)8)  /* for a line */
#define TREND_VALUES_MAX ((size_t)64) /* memory and time grow with the square */

struct trend_line {
	bool known;              /* else the values are too few for how they hang together */
	double slope, low, high; /* of y for each unit of x; 95 %; the slope alone if not known */
	double confidence;       /* 0 to 1: that there is a slope at all */
};

/* At most TREND_VALUES_MAX values; x ascends strictly; all finite. */
void trend_fit(struct trend_line *out, const double *x, const double *y, size_t n);

enum trend_kind {
	TREND_UNKNOWN, /* too few values, or they differ and show no direction */
	TREND_STEADY,  /* in the second half they differ by little and show no direction */
	TREND_SETTLED, /* likewise, and lie higher than the first one */
	TREND_SLOWS,   /* it grows to the end, perhaps less than half as fast as in the beginning */
	TREND_GROWS,
	TREND_SHRINKS,
};

struct trend {
	enum trend_kind kind;
	struct trend_line late; /* of the second half */
};

/* As for trend_fit().  A change of less than `error` is one of the measuring. */
void trend_judge(struct trend *out, const double *x, const double *y, size_t n, double error);

const char *trend_name(enum trend_kind kind); /* "steady" */

#endif
