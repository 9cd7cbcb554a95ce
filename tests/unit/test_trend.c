/* links: is_analyze */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "analyze/figures/trend.h"

#define MOST TREND_VALUES_MAX

static uint64_t seed = 88172645463325252u;

/* Uniform, 0 to 1. */
static double chance(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (double)(seed >> 11) / 9007199254740992.0;
}

/* About normal, of variance 1. */
static double noise(void)
{
	double sum = -6;

	for (unsigned i = 0; i < 12; i++)
		sum += chance();
	return sum;
}

static void count_up(double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = (double)i;
}

static struct trend judged(double (*at)(size_t i, size_t n), size_t n, double error)
{
	double x[MOST], y[MOST];
	struct trend t;

	count_up(x, n);
	for (size_t i = 0; i < n; i++)
		y[i] = at(i, n);
	trend_judge(&t, x, y, n, error);
	return t;
}

static double constant(size_t i, size_t n)
{
	(void)i;
	(void)n;
	return 1e9;
}

static double line(size_t i, size_t n)
{
	(void)n;
	return 2e8 + 1e6 * (double)i;
}

static double falling(size_t i, size_t n)
{
	return 2e8 - line(i, n) / 10;
}

static double plateau(size_t i, size_t n)
{
	return i < n / 2 ? line(i, n) : line(n / 2, n);
}

/* Twice as large every time that it is full. */
static double doubling(size_t i, size_t n)
{
	double size = 1e6;

	(void)n;
	while (size < 1e5 * (double)i)
		size *= 2;
	return 1e8 + size;
}

static double slowing(size_t i, size_t n)
{
	size_t half = n / 2;

	return i < half ? line(i, n) : line(half, n) + 1e5 * (double)(i - half);
}

/*
 * Resident memory, in MB, of a detector of faces that gets pictures of changing size, by the least
 * of each step and of each three: it stops at about 1230 after 200 steps.
 */
static double filling(size_t i, size_t n)
{
	static const double by_one[60] = {
		775.3, 775.3, 842.1, 842.1, 842.1, 861.9, 875.1, 875.1, 875.1, 889.7, 889.7, 889.7,
		889.7, 898.6, 909.1, 909.1, 909.3, 909.3, 909.3, 926.8, 926.8, 926.8, 928.4, 928.4,
		928.4, 928.4, 928.4, 928.4, 930.8, 930.8, 930.8, 930.9, 930.9, 930.9, 930.9, 931.0,
		931.0, 938.5, 938.5, 938.5, 939.0, 958.5, 958.5, 958.5, 958.7, 958.7, 958.7, 967.4,
		967.4, 970.3, 970.3, 970.3, 970.3, 977.7, 977.7, 988.4, 988.4, 988.4, 988.4, 988.4,
	};
	static const double by_three[20] = {
		854.9, 854.9, 883.7, 883.7, 912.4, 912.4, 946.4, 946.4, 946.4, 948.0,
		950.5, 956.4, 957.4, 957.9, 968.4, 968.4, 968.5, 977.7, 977.7, 987.2,
	};

	return 1e6 * (n == 60 ? by_one[i] : by_three[i]);
}

/* Ten times as much in each of the first tenth. */
static double leak_behind_warm_up(size_t i, size_t n)
{
	size_t warm = n / 10;

	return line(i, n) + 9e6 * (double)(i < warm ? i : warm);
}

/* Grows by 1 MB each and is given back every eighth time. */
static double sawtooth(size_t i, size_t n)
{
	(void)n;
	return 2e8 + 1e6 * (double)(i % 8);
}

static double one_jump(size_t i, size_t n)
{
	return i < 3 * n / 4 ? 2e8 : 3e8;
}

static void what_does_not_change_is_steady(void **state)
{
	struct trend t = judged(constant, 40, 0);

	(void)state;
	assert_int_equal(t.kind, TREND_STEADY);
	assert_true(t.late.known && t.late.slope == 0 && t.late.low == 0 && t.late.high == 0);
}

static void a_line_has_its_slope(void **state)
{
	(void)state;
	for (size_t n = 2 * TREND_VALUES_MIN; n <= MOST; n++) {
		struct trend t = judged(line, n, 1e5);

		assert_int_equal(t.kind, TREND_GROWS);
		assert_true(fabs(t.late.slope - 1e6) < 1);
		assert_true(t.late.low <= t.late.slope && t.late.slope <= t.late.high);
		assert_true(t.late.confidence > 0.95);
	}
	assert_int_equal(judged(falling, 40, 1e4).kind, TREND_SHRINKS);
}

static void too_few_values_say_nothing(void **state)
{
	(void)state;
	for (size_t n = 0; n < 2 * TREND_VALUES_MIN; n++) {
		struct trend t = judged(line, n, 0);

		assert_int_equal(t.kind, TREND_UNKNOWN);
		assert_false(t.late.known);
	}
}

static void a_change_within_the_error_is_none(void **state)
{
	(void)state;
	assert_int_equal(judged(line, 40, 1e8).kind, TREND_STEADY);
}

static void warming_up_is_no_growth(void **state)
{
	(void)state;
	assert_int_equal(judged(plateau, 60, 1e5).kind, TREND_SETTLED);
	assert_int_equal(judged(slowing, 60, 1e5).kind, TREND_SLOWS);
	assert_int_equal(judged(one_jump, 60, 1e5).kind == TREND_GROWS, 0);
	assert_int_equal(judged(doubling, 60, 1e5).kind == TREND_GROWS, 0);
}

static void what_fills_ever_more_slowly_is_no_growth_to_the_end(void **state)
{
	(void)state;
	assert_int_equal(judged(filling, 60, 1e6).kind, TREND_SLOWS);
	assert_int_equal(judged(filling, 20, 1e6).kind, TREND_SLOWS);
}

static void a_leak_behind_a_short_warm_up_is_one(void **state)
{
	(void)state;
	for (size_t n = 20; n <= MOST; n++) {
		struct trend t = judged(leak_behind_warm_up, n, 1e5);

		assert_int_equal(t.kind, TREND_GROWS);
		assert_true(fabs(t.late.slope - 1e6) < 1);
	}
}

/* Of a thousand that grow by leaps of any size, one for every other value: growth to the end. */
static unsigned grow_by_leaps(double (*pace)(double part))
{
	double x[MOST], y[MOST];
	unsigned found = 0;

	count_up(x, 60);
	for (unsigned round = 0; round < 1000; round++) {
		double level = 100;
		struct trend t;

		for (size_t i = 0; i < 60; i++) {
			if (chance() < 0.5)
				level -= 2 * pace((double)i / 60) * log(1 - chance());
			y[i] = level;
		}
		trend_judge(&t, x, y, 60, 0.01);
		found += t.kind == TREND_GROWS;
	}
	return found;
}

static double ever_slower(double part)
{
	return exp(-3 * part);
}

static double alike(double part)
{
	(void)part;
	return 1;
}

static void leaps_that_get_smaller_seldom_grow_to_the_end(void **state)
{
	(void)state;
	assert_true(grow_by_leaps(ever_slower) <= 30);
	assert_true(grow_by_leaps(alike) >= 300);
}

static void what_is_given_back_is_no_growth(void **state)
{
	(void)state;
	for (size_t n = 2 * TREND_VALUES_MIN; n <= MOST; n++)
		assert_int_not_equal(judged(sawtooth, n, 1e5).kind, TREND_GROWS);
}

static void values_far_off_move_nothing(void **state)
{
	double x[MOST], y[MOST];
	struct trend_line l;

	(void)state;
	count_up(x, 60);
	for (size_t i = 0; i < 60; i++)
		y[i] = line(i, 60) + 1e5 * noise() + (i % 6 == 3 ? 5e8 : 0);
	trend_fit(&l, x, y, 60);
	assert_true(fabs(l.slope - 1e6) < 5e4);
}

/* How often, of a thousand series, a slope is seen where there is none. */
static unsigned false_slopes(size_t n, double memory)
{
	double x[MOST], y[MOST];
	unsigned seen = 0;

	count_up(x, n);
	for (unsigned round = 0; round < 1000; round++) {
		struct trend_line l;
		double last = 0;

		for (size_t i = 0; i < 50; i++)
			last = memory * last + noise();
		for (size_t i = 0; i < n; i++)
			y[i] = last = memory * last + noise();
		trend_fit(&l, x, y, n);
		seen += l.known && (l.low > 0 || l.high < 0);
	}
	return seen;
}

static void chance_is_seldom_a_slope(void **state)
{
	static const size_t lengths[] = { 8, 10, 16, 32, 64 };

	(void)state;
	/* 50 are meant to be; with neighbours that hang together it is a rule of thumb. */
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		assert_true(false_slopes(lengths[i], 0) <= 65);
		assert_true(false_slopes(lengths[i], 0.4) <= 90);
		assert_true(false_slopes(lengths[i], 0.7) <= 120);
	}
}

static void the_interval_has_the_slope(void **state)
{
	unsigned inside = 0, known = 0;
	double x[MOST], y[MOST];

	(void)state;
	count_up(x, 32);
	for (unsigned round = 0; round < 1000; round++) {
		struct trend_line l;

		for (size_t i = 0; i < 32; i++)
			y[i] = 3 * (double)i + 10 * noise();
		trend_fit(&l, x, y, 32);
		known += l.known;
		inside += l.known && l.low <= 3 && 3 <= l.high;
	}
	assert_true(known > 990);
	assert_true(inside >= 0.93 * known);
}

/* One that is there in the noise is found. */
static void a_slope_in_noise_is_found(void **state)
{
	unsigned found = 0;

	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		double x[MOST], y[MOST];
		struct trend t;

		count_up(x, 64);
		for (size_t i = 0; i < 64; i++)
			y[i] = 1000 + (double)i + 4 * noise();
		trend_judge(&t, x, y, 64, 1);
		found += t.kind == TREND_GROWS;
	}
	assert_true(found >= 190);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_does_not_change_is_steady),
		cmocka_unit_test(a_line_has_its_slope),
		cmocka_unit_test(too_few_values_say_nothing),
		cmocka_unit_test(a_change_within_the_error_is_none),
		cmocka_unit_test(warming_up_is_no_growth),
		cmocka_unit_test(what_fills_ever_more_slowly_is_no_growth_to_the_end),
		cmocka_unit_test(a_leak_behind_a_short_warm_up_is_one),
		cmocka_unit_test(leaps_that_get_smaller_seldom_grow_to_the_end),
		cmocka_unit_test(what_is_given_back_is_no_growth),
		cmocka_unit_test(values_far_off_move_nothing),
		cmocka_unit_test(chance_is_seldom_a_slope),
		cmocka_unit_test(the_interval_has_the_slope),
		cmocka_unit_test(a_slope_in_noise_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
