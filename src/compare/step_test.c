#include "compare/step_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/figures/stats.h"

#define FINE 32u    /* batches at most; a quarter of them are coarse ones */
#define QUARTERS 4u /* fine batches in a coarse one */
#define COARSE_LEAST 4u
/* Noise slower than the run is taken to be as large as the slow noise inside of it. */
#define SLOW_COUNTS 2
/* From so many degrees of freedom on runs are not believed to be quieter than they are. */
#define SEEN_ALONE 4
#define SLICE_NS 3e6 /* Linux gives a thread so much CPU time, or more, before the next one */
/* From so many degrees of freedom on runs are not believed to be quieter than they are. */
#define SEEN_ALONE 4
#define SLICE_NS 3e6 /* Linux gives a thread so much CPU time, or more, before the next one */
/* Of the batches of a median, so many are drawn in at either end: it ignores single bad ones. */
#define DRAWN_IN 0.2

static const struct {
	const char *name;
	double quantile; /* 0: none, the mean */
	size_t steps;    /* a batch needs */
	double drawn_in;
} statistics[STEP_STATISTICS] = {
	[STATISTIC_MEDIAN] = { "median", 0.50, 1, DRAWN_IN },
	[STATISTIC_MEAN] = { "mean", 0, 1, 0 },
	[STATISTIC_P95] = { "p95", 0.95, 20, 0 },
	[STATISTIC_P99] = { "p99", 0.99, 100, 0 },
};

const char *step_statistic_name(enum step_statistic what)
{
	return statistics[what].name;
}

double step_statistic_value(enum step_statistic what, const int64_t *sorted, size_t n)
{
	if (statistics[what].quantile > 0)
		return (double)stats_percentile(sorted, n, statistics[what].quantile);
	return stats_mean(sorted, n);
}

size_t step_statistic_least(enum step_statistic what)
{
	return (size_t)COARSE_LEAST * QUARTERS * statistics[what].steps;
}

/* Of an interval of the series; `room` is for as many. */
static double level_of(enum step_statistic what, const int64_t *ns, size_t n, int64_t *room)
{
	double value;

	memcpy(room, ns, n * sizeof(*room));
	stats_sort(room, n);
	value = step_statistic_value(what, room, n);
	return log(value > 1 ? value : 1); /* the clock has no finer unit */
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double variance_of(const double *v, size_t n)
{
	double mean = 0, sum = 0;

	for (size_t i = 0; i < n; i++)
		mean += v[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		sum += (v[i] - mean) * (v[i] - mean);
	return n > 1 ? sum / (double)(n - 1) : 0;
}

/* The winsorized variance, made as large as that of values of which none was drawn in. */
static double batch_variance(double *v, size_t n, double drawn_in)
{
	size_t g = (size_t)(drawn_in * (double)n);

	if (g) {
		qsort(v, n, sizeof(*v), by_value);
		for (size_t i = 0; i < g; i++) {
			v[i] = v[g];
			v[n - 1 - i] = v[n - 1 - g];
		}
	}
	return variance_of(v, n) * (double)(n - 1) / (double)(n - 2 * g - 1);
}

/* Of the level of `batches` equal intervals of the series. */
static double stretch_variance(const struct step_series *s, enum step_statistic what,
			       size_t batches, int64_t *room)
{
	double levels[FINE];

	for (size_t i = 0; i < batches; i++) {
		size_t from = s->count * i / batches, until = s->count * (i + 1) / batches;

		levels[i] = level_of(what, s->ns + from, until - from, room);
	}
	return batch_variance(levels, batches, statistics[what].drawn_in);
}

static double within_variance(const struct step_series *s, enum step_statistic what, int64_t *room)
{
	size_t fine = s->count / statistics[what].steps, coarse;
	double of_fine, of_coarse, slow;

	coarse = (fine < FINE ? fine : FINE) / QUARTERS;
	if (coarse < COARSE_LEAST)
		return NAN;
	fine = coarse * QUARTERS;
	of_fine = stretch_variance(s, what, fine, room);
	of_coarse = stretch_variance(s, what, coarse, room);
	slow = fmax(0, of_coarse - of_fine / QUARTERS);
	return fmax(of_fine / (double)fine, of_coarse / (double)coarse) + SLOW_COUNTS * slow;
}

/*
 * Where a few steps had to wait for a CPU and most had not, the mean is raised and the statistic is
 * not: what the mean is larger by has been paid already.  A step that is shorter than most slices
 * of CPU time seldom meets a wait, and the median is one of those that did not.
 */
static double queued_part(const struct step_series *s, enum step_statistic what, double level)
{
	double mean = stats_mean(s->ns, s->count), value = exp(level);
	double queued = s->queued_share * mean - fmax(0, mean - value);

	if (!(queued > 0) || (what == STATISTIC_MEDIAN && value < SLICE_NS / 2))
		return 0;
	return queued < value ? -log1p(-queued / value) : INFINITY;
}

int run_level_measure(struct run_level *out, const struct step_series *s, enum step_statistic what)
{
	int64_t *room = malloc(s->count * sizeof(*room));

	if (!room)
		return -1;
	out->level = level_of(what, s->ns, s->count, room);
	out->variance = within_variance(s, what, room);
	out->queued = queued_part(s, what, out->level);
	free(room);
	return 0;
}

double student_tail(double t, double df)
{
	double angle = atan(fabs(t) / sqrt(df)), cosine = cos(angle), square = cosine * cosine;
	double term = 1, sum = 0;
	long n = lround(df);
	double inside;

	/* Abramowitz and Stegun 26.7.3 and 26.7.4. */
	if (n % 2) {
		term = cosine;
		for (long i = 1; i <= n - 2; i += 2) {
			sum += term;
			term *= square * (double)(i + 1) / (double)(i + 2);
		}
		inside = 2 / M_PI * (angle + sin(angle) * sum);
	} else {
		for (long i = 0; i <= n - 2; i += 2) {
			sum += term;
			term *= square * (double)(i + 1) / (double)(i + 2);
		}
		inside = sin(angle) * sum;
	}
	return fmin(1, fmax(0, 1 - inside));
}

double student_quantile(double p, double df)
{
	double low = 0, high = 1;

	while (student_tail(high, df) > p && high < 1e9)
		high *= 2;
	for (int i = 0; i < 80; i++) {
		double middle = (low + high) / 2;

		if (student_tail(middle, df) > p)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

static double mean_of(const double *v, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i];
	return sum / (double)n;
}

/* A difference and its error, by so many degrees of freedom. */
static void add_test(struct mean_test *t, double variance, double weight, double shift, double df)
{
	double error = sqrt(variance * weight + shift * shift);
	double reach = student_quantile(STEP_TEST_ALPHA, df) * error;
	double p = t->difference != 0 ? 0 : 1;

	if (error > 0)
		p = student_tail(t->difference / error, df);
	if (t->df > 0 && reach <= t->high - t->difference)
		return;
	t->low = t->difference - reach;
	t->high = t->difference + reach;
	t->p_value = p;
	t->spread = sqrt(variance);
	t->df = df;
}

void mean_test(struct mean_test *out, const double *first, size_t n, const double *second, size_t m,
	       double prior_variance, double shift)
{
	double seen = (double)(n + m - 2), df = STEP_TEST_PRIOR_DF + seen;
	double weight = 1 / (double)n + 1 / (double)m;
	double between =
		variance_of(first, n) * (double)(n - 1) + variance_of(second, m) * (double)(m - 1);

	*out = (struct mean_test){ .difference = mean_of(second, m) - mean_of(first, n) };
	add_test(out, (STEP_TEST_PRIOR_DF * prior_variance + between) / df, weight, shift, df);
	if (seen >= SEEN_ALONE)
		add_test(out, between / seen, weight, shift, seen);
}

/* The mean of the runs whose steps are enough; 0: of none. */
static double known_variance(const struct run_level *runs, size_t n, size_t *known)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		if (isnan(runs[i].variance))
			continue;
		sum += runs[i].variance;
		++*known;
	}
	return sum;
}

/* Infinite only where steps did nothing but wait for a CPU: then nothing is certain. */
static double queued_of(const struct run_level *runs, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += fmin(runs[i].queued, 1e3);
	return sum / (double)n;
}

int step_change_test(struct step_change *out, const struct run_level *before, size_t n,
		     const struct run_level *after, size_t m, double run_spread)
{
	double *levels = malloc((n + m) * sizeof(*levels));
	size_t known = 0;
	double within;
	struct mean_test test;

	*out = (struct step_change){ .p_value = 1 };
	if (!levels)
		return -1;
	within = known_variance(before, n, &known);
	within += known_variance(after, m, &known);
	for (size_t i = 0; i < n; i++)
		levels[i] = before[i].level;
	for (size_t i = 0; i < m; i++)
		levels[n + i] = after[i].level;
	mean_test(&test, levels, n, levels + n, m,
		  run_spread * run_spread + (known ? within / (double)known : 0),
		  queued_of(after, m) - queued_of(before, n));
	free(levels);
	*out = (struct step_change){
		/* Runs with few steps are distinguished by further runs only. */
		.known = known == n + m || (n > 1 && m > 1),
		.ratio = expm1(test.difference),
		.low = expm1(test.low),
		.high = expm1(test.high),
		.p_value = test.p_value,
		.spread = test.spread,
		.df = test.df,
	};
	out->significant = out->known && out->p_value < STEP_TEST_ALPHA;
	return 0;
}
