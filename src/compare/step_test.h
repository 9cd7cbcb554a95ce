/*
 * Does the step time of one group of runs differ from that of another?
 *
 * The unit of the test is the run, not the step.  Steps of one run are correlated (caches, clocks,
 * a busy neighbour for some seconds), and two runs of the same program differ by more than their
 * steps explain (placement in memory, frequency, the state of the machine).  A test that takes
 * steps for independent calls nearly every pair of runs different.
 *
 * Model: the logarithm of a run's statistic (median, mean, percentile) is that of the program plus
 * an effect of the run plus chance within the run.
 *  - Chance within the run comes from means over batches: the series is cut into 8 intervals, so
 *    that correlation inside an interval does no harm.  What these intervals differ by more than
 *    their quarters explain is slow noise.  It does not average out over a run, and noise slower
 *    than the run is taken to be as large: it counts twice, undivided.
 *  - The effect of the run is not visible in one run.  Its standard deviation has a prior value
 *    (run_spread, 2 % unless the user knows better), worth 4 degrees of freedom.  Several runs on
 *    a side add the variance between them with their own degrees of freedom (the moderated t-test
 *    of Smyth, 2004); from 3 and 3 runs on a plain t-test has to agree, so that the prior cannot
 *    make a noisy machine look quiet.
 *  - Threads that had to wait for a CPU were slowed down by other programs.  Where the two sides
 *    differ in that, the part of the step time that it may explain is a further standard error.
 *
 * The difference over its error follows Student's t.  Two-sided, false alarms at most
 * STEP_TEST_ALPHA as long as runs of one program have no larger spread than the prior or, with
 * several runs, than was seen.  `bench/diff_study.py` measures it; docs/DIFF.md has the table.
 */
#ifndef COMPARE_STEP_TEST_H
#define COMPARE_STEP_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STEP_TEST_ALPHA 0.05
#define STEP_TEST_PRIOR_DF 4.0

enum step_statistic {
	STATISTIC_MEDIAN,
	STATISTIC_MEAN,
	STATISTIC_P95,
	STATISTIC_P99,
	STEP_STATISTICS,
};

/* "median"; as in --statistic. */
const char *step_statistic_name(enum step_statistic what);

/* Of durations that are sorted, n > 0. */
double step_statistic_value(enum step_statistic what, const int64_t *sorted, size_t n);

/* Fewer steps say nothing about the chance within a run. */
size_t step_statistic_least(enum step_statistic what);

/* The steps of one run, in order of time. */
struct step_series {
	const int64_t *ns;
	size_t count; /* > 0 */
	/* Of the time in which its threads could run, what they waited for a CPU; 0: none, unknown.
	 */
	double queued_share;
};

/* What a run says of its program. */
struct run_level {
	double level;    /* logarithm of the statistic in ns */
	double variance; /* of the level by chance within the run; NAN: too few steps */
	double queued;   /* by which waiting for a CPU may have raised the level, at most */
};

/* -1: no memory. */
int run_level_measure(struct run_level *out, const struct step_series *s, enum step_statistic what);

/* The difference of the means of two groups, and what chance can make of it. */
struct mean_test {
	double difference; /* second - first */
	double low, high;  /* it lies between these, with 1 - STEP_TEST_ALPHA */
	double p_value;    /* a difference like this or larger between equal programs */
	double spread;     /* standard deviation of a run */
	double df;
};

/*
 * n and m > 0.  prior_variance: of one run, worth STEP_TEST_PRIOR_DF; shift: a standard error that
 * more runs do not make smaller.
 */
void mean_test(struct mean_test *out, const double *first, size_t n, const double *second, size_t m,
	       double prior_variance, double shift);

struct step_change {
	bool known;   /* else a run has too few steps and its side no second run */
	double ratio; /* after / before - 1 */
	double low, high;
	double p_value;
	double spread; /* standard deviation of a run, relative */
	double df;
	bool significant;
};

/* run_spread: the prior standard deviation between runs, 0.02 for 2 %.  -1: no memory. */
int step_change_test(struct step_change *out, const struct run_level *before, size_t n,
		     const struct run_level *after, size_t m, double run_spread);

/* P(|T| > t) for a whole number of degrees of freedom, and its inverse. */
double student_tail(double t, double df);
double student_quantile(double p, double df);

#endif
