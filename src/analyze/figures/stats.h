/*
 * Order statistics, exact: by sorting, without interpolation.
 *
 * The percentile is the nearest rank: the smallest value that at least q of all
 * values do not exceed.  It is therefore always one that was measured.
 */
#ifndef ANALYZE_FIGURES_STATS_H
#define ANALYZE_FIGURES_STATS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

void stats_sort(int64_t *values, size_t n);

/* 0 < q <= 1; values sorted, n > 0. */
int64_t stats_percentile(const int64_t *values, size_t n, double q);

/* Sums of times that a hostile file may have chosen. */
static inline int64_t stats_add(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

double stats_mean(const int64_t *values, size_t n); /* n > 0 */

/* strcmp() for texts that may be missing: those come first. */

static inline int compare_texts(const char *a, const char *b)
{
	return a == b ? 0 : !a ? -1 : !b ? 1 : strcmp(a, b);
}

#endif
