/* links: is_compare is_report is_rules is_analyze is_timeline is_format is_base */
/* The statistics of `inferscope diff`: seeded, so that every run of this test is the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "compare/step_test.h"

#define SPREAD 0.02
#define NEAR(x, y, by) assert_true(fabs((x) - (y)) <= (by))

static uint64_t seed;

static double uniform(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return ((double)(seed >> 11) + 0.5) * 0x1p-53;
}

static double normal(void)
{
	double r = sqrt(-2 * log(uniform()));

	return r * cos(2 * M_PI * uniform());
}

/* Steps of about 5 ms: correlated from one to the next, with slow noise and outliers. */
static void make_up(int64_t *ns, size_t n, double level, double slow_noise)
{
	double fast = 0, slow = 0;

	for (size_t i = 0; i < n; i++) {
		double x;

		fast = 0.9 * fast + 0.02 * normal();
		slow = 0.999 * slow + slow_noise * normal();
		x = level + fast + slow + 0.01 * normal();
		if (uniform() < 0.02)
			x += fabs(normal());
		ns[i] = (int64_t)(5e6 * exp(x));
	}
}

static struct run_level measure(const int64_t *ns, size_t n, enum step_statistic what)
{
	const struct step_series s = { ns, n, 0 };
	struct run_level level;

	assert_int_equal(run_level_measure(&level, &s, what), 0);
	return level;
}

static struct run_level run_of(double level, double slow_noise, size_t n)
{
	int64_t ns[2000];

	make_up(ns, n, level, slow_noise);
	return measure(ns, n, STATISTIC_MEDIAN);
}

static struct step_change change_of(const struct run_level *before, size_t n,
				    const struct run_level *after, size_t m)
{
	struct step_change change;

	assert_int_equal(step_change_test(&change, before, n, after, m, SPREAD), 0);
	return change;
}

static void student_is_that_of_the_tables(void **state)
{
	(void)state;
	NEAR(student_tail(12.706, 1), 0.05, 1e-5);
	NEAR(student_tail(2.776, 4), 0.05, 1e-4);
	NEAR(student_tail(2.571, 5), 0.05, 1e-4);
	NEAR(student_tail(4.604, 4), 0.01, 1e-4);
	NEAR(student_tail(-2.0, 60), 0.05003, 1e-4);
	NEAR(student_tail(1.96, 100000), 0.05, 1e-4);
	NEAR(student_tail(0, 7), 1, 1e-12);
	NEAR(student_quantile(0.05, 4), 2.7764, 1e-3);
	NEAR(student_quantile(0.05, 12), 2.1788, 1e-3);
	for (double df = 1; df < 40; df++)
		NEAR(student_tail(student_quantile(0.05, df), df), 0.05, 1e-9);
}

static void a_run_beside_itself_has_not_changed(void **state)
{
	struct run_level run;
	struct step_change c;

	(void)state;
	seed = 1;
	run = run_of(0, 0, 400);
	c = change_of(&run, 1, &run, 1);
	assert_true(c.known);
	assert_false(c.significant);
	NEAR(c.ratio, 0, 1e-12);
	NEAR(c.p_value, 1, 1e-12);
	assert_true(c.low < 0 && c.high > 0);
}

static void the_change_is_that_of_the_medians(void **state)
{
	int64_t before[100], after[100];
	struct run_level levels[2];
	struct step_change c;

	(void)state;
	for (int i = 0; i < 100; i++) {
		before[i] = 1000000 + i;
		after[i] = i % 10 ? 1250000 + i : 90000000;
	}
	levels[0] = measure(before, 100, STATISTIC_MEDIAN);
	levels[1] = measure(after, 100, STATISTIC_MEDIAN);
	c = change_of(&levels[0], 1, &levels[1], 1);
	NEAR(c.ratio, 0.25, 0.001);
	assert_true(c.significant);
	assert_true(c.low > 0 && c.low < 0.25 && c.high > 0.25);
	/* The mean is where the long ones are, and as uncertain as they are few. */
	levels[0] = measure(before, 100, STATISTIC_MEAN);
	levels[1] = measure(after, 100, STATISTIC_MEAN);
	assert_true(change_of(&levels[0], 1, &levels[1], 1).ratio > 5);
}

static void few_steps_are_not_tested_but_several_runs_are(void **state)
{
	int64_t ns[15], longer[15];
	struct run_level before[3], after[3];

	(void)state;
	for (int i = 0; i < 15; i++) {
		ns[i] = 1000000 + 1000 * i;
		longer[i] = 2 * ns[i];
	}
	for (int i = 0; i < 3; i++) {
		before[i] = measure(ns, 15, STATISTIC_MEDIAN);
		after[i] = measure(longer, 15, STATISTIC_MEDIAN);
	}
	assert_true(isnan(before[0].variance));
	assert_int_equal(step_statistic_least(STATISTIC_MEDIAN), 16);
	assert_false(change_of(before, 1, after, 1).known);
	assert_false(change_of(before, 1, after, 1).significant);
	assert_false(change_of(before, 1, after, 3).known);
	assert_true(change_of(before, 3, after, 3).significant);
	NEAR(change_of(before, 3, after, 3).ratio, 1, 1e-9);
}

/* The same steps in another order: where slow ones lie together, the next run may have none. */
static void slow_noise_makes_a_run_uncertain(void **state)
{
	int64_t mixed[512], together[512];

	(void)state;
	for (int i = 0; i < 512; i++) {
		mixed[i] = i % 2 ? 1000000 + i : 1100000 + i;
		together[i] = i < 256 ? 1000000 + i : 1100000 + i;
	}
	assert_true(measure(together, 512, STATISTIC_MEAN).variance >
		    20 * measure(mixed, 512, STATISTIC_MEAN).variance);
}

static void waiting_for_a_cpu_is_no_regression(void **state)
{
	int64_t ns[400];
	struct run_level alone, crowded;
	struct step_series s = { ns, 400, 0 };

	(void)state;
	for (int i = 0; i < 400; i++)
		ns[i] = 20000000 + 1000 * (i % 7);
	alone = measure(ns, 400, STATISTIC_MEDIAN);
	for (int i = 0; i < 400; i++)
		ns[i] = 2 * ns[i];
	crowded = measure(ns, 400, STATISTIC_MEDIAN);
	assert_true(change_of(&alone, 1, &crowded, 1).significant);
	s.queued_share = 0.5;
	assert_int_equal(run_level_measure(&crowded, &s, STATISTIC_MEDIAN), 0);
	assert_false(change_of(&alone, 1, &crowded, 1).significant);
	s.queued_share = 1;
	assert_int_equal(run_level_measure(&crowded, &s, STATISTIC_MEDIAN), 0);
	assert_false(change_of(&alone, 1, &crowded, 1).significant);
	/* Short steps that mostly met no wait: the median is not concerned. */
	for (int i = 0; i < 400; i++)
		ns[i] = i % 10 ? 1000000 + i : 9000000;
	s.queued_share = 0.44;
	assert_int_equal(run_level_measure(&crowded, &s, STATISTIC_MEDIAN), 0);
	NEAR(crowded.queued, 0, 0.01);
}

/* Of 1000 comparisons, how many are significant. */
static double significant_share(size_t traces, double spread, size_t steps, double longer)
{
	struct run_level runs[10];
	size_t alarms = 0;

	for (int k = 0; k < 1000; k++) {
		for (size_t i = 0; i < 2 * traces; i++)
			runs[i] = run_of(spread * normal() + (i < traces ? 0 : log1p(longer)),
					 0.0005, steps);
		alarms += change_of(runs, traces, runs + traces, traces).significant;
	}
	return (double)alarms / 1000;
}

static void false_alarms_are_as_rare_as_is_said(void **state)
{
	(void)state;
	seed = 7;
	assert_true(significant_share(1, SPREAD, 200, 0) <= STEP_TEST_ALPHA);
	assert_true(significant_share(3, SPREAD, 200, 0) <= STEP_TEST_ALPHA);
	assert_true(significant_share(5, SPREAD, 200, 0) <= STEP_TEST_ALPHA);
}

static void regressions_are_detected(void **state)
{
	(void)state;
	seed = 7;
	assert_true(significant_share(1, 0.005, 1000, 0.20) > 0.8);
	assert_true(significant_share(3, 0.005, 200, 0.10) > 0.95);
	assert_true(significant_share(5, 0.005, 200, 0.06) > 0.8);
}

static void odd_durations_do_no_harm(void **state)
{
	int64_t zeros[64] = { 0 }, huge[64];
	struct run_level a, b;

	(void)state;
	for (int i = 0; i < 64; i++)
		huge[i] = INT64_MAX - i;
	a = measure(zeros, 64, STATISTIC_MEDIAN);
	b = measure(huge, 64, STATISTIC_MEAN);
	assert_true(isfinite(a.level) && isfinite(b.level));
	assert_true(change_of(&a, 1, &b, 1).significant);
	assert_true(isnan(measure(zeros, 64, STATISTIC_P99).variance));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(student_is_that_of_the_tables),
		cmocka_unit_test(a_run_beside_itself_has_not_changed),
		cmocka_unit_test(the_change_is_that_of_the_medians),
		cmocka_unit_test(few_steps_are_not_tested_but_several_runs_are),
		cmocka_unit_test(slow_noise_makes_a_run_uncertain),
		cmocka_unit_test(waiting_for_a_cpu_is_no_regression),
		cmocka_unit_test(false_alarms_are_as_rare_as_is_said),
		cmocka_unit_test(regressions_are_detected),
		cmocka_unit_test(odd_durations_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
