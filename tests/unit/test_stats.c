/* links: is_analyze */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/figures/stats.h"

static void percentiles_are_the_nearest_rank(void **state)
{
	const int64_t five[] = { 15, 20, 35, 40, 50 };
	int64_t hundred[100];

	(void)state;
	assert_int_equal(stats_percentile(five, 5, 0.05), 15);
	assert_int_equal(stats_percentile(five, 5, 0.30), 20);
	assert_int_equal(stats_percentile(five, 5, 0.40), 20);
	assert_int_equal(stats_percentile(five, 5, 0.50), 35);
	assert_int_equal(stats_percentile(five, 5, 0.99), 50);
	assert_int_equal(stats_percentile(five, 5, 1.00), 50);
	for (int64_t i = 0; i < 100; i++)
		hundred[i] = i + 1;
	assert_int_equal(stats_percentile(hundred, 100, 0.50), 50);
	assert_int_equal(stats_percentile(hundred, 100, 0.95), 95);
	assert_int_equal(stats_percentile(hundred, 100, 0.99), 99);
	assert_int_equal(stats_percentile(hundred, 20, 0.95), 19);
}

static void one_value_is_every_percentile(void **state)
{
	const int64_t one[] = { 7 };

	(void)state;
	assert_int_equal(stats_percentile(one, 1, 0.01), 7);
	assert_int_equal(stats_percentile(one, 1, 0.99), 7);
}

static void sorting_and_mean(void **state)
{
	int64_t values[] = { 3, INT64_MAX, -5, 3, 0 };

	(void)state;
	stats_sort(values, 5);
	assert_int_equal(values[0], -5);
	assert_int_equal(values[1], 0);
	assert_int_equal(values[3], 3);
	assert_int_equal(values[4], INT64_MAX);
	assert_true(stats_mean(values, 4) == 0.25);
	stats_sort(values, 0);
	assert_int_equal(values[0], -5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentiles_are_the_nearest_rank),
		cmocka_unit_test(one_value_is_every_percentile),
		cmocka_unit_test(sorting_and_mean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
