#include "analyze/figures/stats.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

void stats_sort(int64_t *values, size_t n)
{
	if (n)
		qsort(values, n, sizeof(*values), ascending);
}

int64_t stats_percentile(const int64_t *values, size_t n, double q)
{
	/* 0.95 * 20 is a little more than 19 in binary: not a reason to take the next rank. */
	double rank = ceil(q * (double)n - 1e-9);
	size_t i = rank < 1 ? 0 : (size_t)rank - 1;

	return values[i < n ? i : n - 1];
}

double stats_mean(const int64_t *values, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (double)values[i];
	return sum / (double)n;
}
