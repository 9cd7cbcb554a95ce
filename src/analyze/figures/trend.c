#include "analyze/figures/trend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define Z_95 1.959964
#define PAIRS_MAX (TREND_VALUES_MAX * (TREND_VALUES_MAX - 1) / 2)

/* It is steady if the values differ by less than this part of the level. */
#define STEADY_SHARE 0.05

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* What Kendall's S varies by if nothing grows; equal values make it less. */
static double variance_of_s(const double *y, size_t n)
{
	double sorted[TREND_VALUES_MAX], sum = (double)n * ((double)n - 1) * (2 * (double)n + 5);

	memcpy(sorted, y, n * sizeof(*y));
	qsort(sorted, n, sizeof(*sorted), ascending);
	for (size_t i = 0, next; i < n; i = next) {
		double equal;

		for (next = i + 1; next < n && sorted[next] <= sorted[i];)
			next++;
		equal = (double)(next - i);
		sum -= equal * (equal - 1) * (2 * equal + 5);
	}
	return sum / 18;
}

/* How many times the variance grows because neighbours resemble each other. */
static double inflation(const double *x, const double *y, size_t n, double slope)
{
	double mean = 0, mean_y = 0, square = 0, product = 0, all = 0, last = 0, r;

	for (size_t i = 0; i < n; i++) {
		mean += (y[i] - slope * x[i]) / (double)n;
		mean_y += y[i] / (double)n;
	}
	for (size_t i = 0; i < n; i++) {
		double left = y[i] - slope * x[i] - mean;

		all += (y[i] - mean_y) * (y[i] - mean_y);
		square += left * left;
		if (i)
			product += left * last;
		last = left;
	}
	/* On a line: what is left over are errors of rounding. */
	if (square <= 1e-18 * all || square <= 0)
		return 1;
	/* Around a line that was fitted, r is too small by about (2 + 4 r) / n. */
	r = (product / square + 2 / (double)n) / (1 - 4 / (double)n);
	if (r <= 0)
		return 1;
	return r < 0.95 ? (1 + r) / (1 - r) : 39;
}

static double middle(const double *sorted, size_t n)
{
	return n % 2 ? sorted[n / 2] : sorted[n / 2 - 1] / 2 + sorted[n / 2] / 2;
}

void trend_fit(struct trend_line *out, const double *x, const double *y, size_t n)
{
	double slopes[PAIRS_MAX], s = 0, deviation, rank;
	size_t pairs = 0, below;

	*out = (struct trend_line){ 0 };
	if (n < TREND_VALUES_MIN || n > TREND_VALUES_MAX)
		return;
	for (size_t i = 0; i < n; i++) {
		for (size_t k = i + 1; k < n; k++) {
			s += (y[k] > y[i]) - (y[k] < y[i]);
			slopes[pairs++] = (y[k] - y[i]) / (x[k] - x[i]);
		}
	}
	qsort(slopes, pairs, sizeof(*slopes), ascending);
	out->slope = middle(slopes, pairs);
	deviation = sqrt(variance_of_s(y, n) * inflation(x, y, n, out->slope));
	rank = floor(((double)pairs - Z_95 * deviation) / 2);
	if (rank < 1)
		return;
	below = (size_t)rank - 1;
	out->known = true;
	out->low = slopes[below];
	out->high = slopes[pairs - 1 - below];
	if (s != 0 && deviation > 0)
		out->confidence = erf((fabs(s) - 1) / deviation / sqrt(2));
}

struct interval {
	struct trend_line line;
	double length; /* in units of x */
};

static void fit(struct interval *s, const double *x, const double *y, size_t n)
{
	trend_fit(&s->line, x, y, n);
	s->length = n ? x[n - 1] - x[0] : 0;
}

/* In a direction, 1 or -1, for certain and by more than the error. */
static bool moves(const struct interval *s, double direction, double error)
{
	double nearest = direction > 0 ? s->line.low : -s->line.high;

	return s->line.known && nearest > 0 && direction * s->line.slope * s->length > error;
}

/*
 * Slower for certain than the pace of the first half, and perhaps less than half as fast.  How sure
 * that pace is does not count: what levels off is no line, so nothing is sure of its first half,
 * and it is growth to the end that has to be shown.  The slope is a median: a few values
 * of warming up in the beginning barely move it.
 */
static bool slows(const struct trend_line *early, const struct trend_line *late)
{
	return late->high < early->slope && late->low <= early->slope / 2;
}

/* Three quarters of the second half are beyond half of the first. */
static bool lies_beyond(const double *y, size_t n, double direction)
{
	double sorted[TREND_VALUES_MAX];
	size_t half = n / 2, late = n - half;
	double median;

	for (size_t i = 0; i < n; i++)
		sorted[i] = direction * y[i];
	qsort(sorted, half, sizeof(*sorted), ascending);
	qsort(sorted + half, late, sizeof(*sorted), ascending);
	median = middle(sorted, half);
	return sorted[half + late / 4] > median;
}

/* Of a half that shows no direction: differences within the error or a share of the level are none.
 */
static enum trend_kind judge_level(const double *y, size_t n, double error, double share)
{
	double least = y[n / 2], most = y[n / 2], little;

	for (size_t i = n / 2; i < n; i++) {
		least = fmin(least, y[i]);
		most = fmax(most, y[i]);
	}
	little = fmax(error, share * fabs(most));
	if (most - least > little)
		return TREND_UNKNOWN;
	return least - y[0] > little ? TREND_SETTLED : TREND_STEADY;
}

void trend_judge(struct trend *out, const double *x, const double *y, size_t n, double error)
{
	size_t half = n / 2;
	struct interval early, late;

	*out = (struct trend){ 0 };
	if (n < TREND_VALUES_MIN || n > TREND_VALUES_MAX)
		return;
	if (half < TREND_VALUES_MIN) { /* a direction would not show */
		out->kind = judge_level(y, n, error, 0);
		return;
	}
	fit(&early, x, y, half);
	fit(&late, x + half, y + half, n - half);
	out->late = late.line;
	if (moves(&late, 1, error) && lies_beyond(y, n, 1))
		out->kind = slows(&early.line, &late.line) ? TREND_SLOWS : TREND_GROWS;
	else if (moves(&late, -1, error) && lies_beyond(y, n, -1))
		out->kind = TREND_SHRINKS;
	else
		out->kind = judge_level(y, n, error, STEADY_SHARE);
}

const char *trend_name(enum trend_kind kind)
{
	static const char *const names[] = {
		[TREND_UNKNOWN] = "unknown", [TREND_STEADY] = "steady", [TREND_SETTLED] = "settled",
		[TREND_SLOWS] = "slows",     [TREND_GROWS] = "grows",   [TREND_SHRINKS] = "shrinks",
	};

	return names[kind];
}
