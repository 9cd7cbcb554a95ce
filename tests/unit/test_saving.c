/* links: is_rules */
/*
 * Intervals of savings: what is known exactly has none, and each thing that is unknown widens them.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rules/saving.h"

#define STEPS 200u
#define MS 1000000

/* Steps of 100 ms, of which a lock takes `ms[i % n]`; by samples if `error_ms` is not 0. */
static struct step_breakdown steps_of(const double *ms, size_t n, double error_ms)
{
	struct step_breakdown b = { .steps = STEPS, .total_ns = (int64_t)STEPS * 100 * MS };

	for (size_t i = 0; i < STEPS; i++) {
		struct step_sample s = { .ns = { 0 } };

		s.ns[TIME_LOCK_WAIT] = (int64_t)(ms[i % n] * MS);
		s.ns[TIME_GPU_COMPUTE] = 100 * MS - s.ns[TIME_LOCK_WAIT];
		assert_int_equal(step_samples_add(&b.samples, &s), 0);
		for (size_t c = 0; c < TIME_CLASSES; c++)
			b.parts[c].ns += s.ns[c];
	}
	b.parts[TIME_LOCK_WAIT].error_ns = (int64_t)(error_ms * MS * STEPS);
	return b;
}

static struct saving_interval interval(struct step_breakdown *b, double least_ms, double most_ms)
{
	struct saving_basis basis = { .least_ms = least_ms, .most_ms = most_ms };
	struct saving_interval s;

	basis.claims_ms[TIME_LOCK_WAIT] = least_ms;
	s = saving_interval(b, &basis);
	step_breakdown_release(b);
	return s;
}

static void what_is_always_the_same_is_certain(void **state)
{
	static const double same[] = { 100 };
	struct step_breakdown b = steps_of(same, 1, 0);
	struct saving_interval s = interval(&b, 100, 100);

	(void)state;
	assert_true(s.ms == 100 && fabs(s.low_ms - 100) < 1e-6 && fabs(s.high_ms - 100) < 1e-6);
}

/* Of a saving of 40 in 100 ms: 1.28 standard deviations either way hold 80 %. */
static double fix_ms(void)
{
	return SAVING_FIX_SPREAD * sqrt(40 * 60);
}

/* What is left, 60 ms, differs by 2 % between runs, and the fix from the one that is meant. */
static void another_run_and_another_fix_widen_it(void **state)
{
	static const double same[] = { 40 };
	struct step_breakdown b = steps_of(same, 1, 0);
	struct saving_interval s = interval(&b, 40, 40);
	double width_ms = 2 * 1.28 * hypot(1.2, fix_ms());

	(void)state;
	assert_true(s.ms == 40 && fabs(s.high_ms - s.low_ms - width_ms) < 0.1 * width_ms);
}

/* Of a whole step no fix leaves anything. */
static void any_value_between_the_bounds_is_as_likely(void **state)
{
	static const double same[] = { 100 };
	struct step_breakdown b = steps_of(same, 1, 0);
	struct saving_interval s = interval(&b, 80, 120);

	(void)state;
	assert_true(s.ms == 100);
	assert_true(fabs(s.low_ms - 84) < 1.5 && fabs(s.high_ms - 116) < 1.5);
}

/* 20 and 60 ms at random: the mean of 200 has a standard error of 3.5 %, 1.28 of which are 80 %. */
static void steps_that_differ_widen_it(void **state)
{
	double ms[STEPS];
	struct step_breakdown b;
	struct saving_interval s;
	unsigned seed = 1;

	(void)state;
	for (size_t i = 0; i < STEPS; i++) {
		seed = seed * 1103515245 + 12345;
		ms[i] = seed >> 16 & 1 ? 20 : 60;
	}
	b = steps_of(ms, STEPS, 0);
	s = interval(&b, 100, 100); /* it holds up the whole step */
	assert_true(s.high_ms - s.low_ms > 2 * 3.5 && s.high_ms - s.low_ms < 20);
	assert_true(s.low_ms < s.ms && s.ms < s.high_ms);
}

static void few_samples_widen_it(void **state)
{
	static const double same[] = { 40 };
	struct step_breakdown b = steps_of(same, 1, 19.6); /* standard error: 10 ms */
	struct saving_interval s = interval(&b, 40, 40);

	(void)state;
	assert_true(fabs(s.high_ms - s.low_ms - 2 * 1.28 * hypot(10, fix_ms())) < 4);
}

static void a_trace_has_one_interval(void **state)
{
	static const double ms[] = { 20, 60, 30 };
	struct step_breakdown once = steps_of(ms, 3, 5), again = steps_of(ms, 3, 5);
	struct saving_interval a = interval(&once, 30, 50), b = interval(&again, 30, 50);

	(void)state;
	assert_memory_equal(&a, &b, sizeof(a));
}

/* Of many steps every second, fourth, ... is kept, from the first on. */
static void many_steps_are_thinned_out_evenly(void **state)
{
	struct step_samples s = { 0 };
	struct step_sample one = { .ns = { 0 } };

	(void)state;
	for (int64_t i = 0; i < 10000; i++) {
		one.ns[0] = i;
		assert_int_equal(step_samples_add(&s, &one), 0);
	}
	assert_true(s.count <= STEP_SAMPLES_MOST && s.count > STEP_SAMPLES_MOST / 2 - 1);
	for (size_t i = 0; i < s.count; i++)
		assert_int_equal(s.items[i].ns[0], (int64_t)(i * s.every));
	free(s.items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_always_the_same_is_certain),
		cmocka_unit_test(another_run_and_another_fix_widen_it),
		cmocka_unit_test(any_value_between_the_bounds_is_as_likely),
		cmocka_unit_test(steps_that_differ_widen_it),
		cmocka_unit_test(few_samples_widen_it),
		cmocka_unit_test(a_trace_has_one_interval),
		cmocka_unit_test(many_steps_are_thinned_out_evenly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
