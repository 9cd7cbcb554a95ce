/* links: is_analyze */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/gpu/step_gpu_usage.h"

#define NEAR 1e-9

static void none_take_nothing(void **state)
{
	struct wait_lengths w = { 0 };

	(void)state;
	assert_float_equal(wait_lengths_longest(&w, 5), 0, NEAR);
	wait_lengths_add(&w, 0);
	wait_lengths_add(&w, -7);
	assert_float_equal(wait_lengths_longest(&w, 5), 0, NEAR);
}

static void equal_ones_share_equally(void **state)
{
	struct wait_lengths w = { 0 };

	(void)state;
	for (int i = 0; i < 20; i++)
		wait_lengths_add(&w, 5000);
	assert_float_equal(wait_lengths_longest(&w, 0), 0, NEAR);
	assert_float_equal(wait_lengths_longest(&w, 1), 0.05, NEAR);
	assert_float_equal(wait_lengths_longest(&w, 0.5), 0.025, NEAR);
	assert_float_equal(wait_lengths_longest(&w, 20), 1, NEAR);
	assert_float_equal(wait_lengths_longest(&w, 100), 1, NEAR);
}

static void the_longest_go_first(void **state)
{
	struct wait_lengths w = { 0 };

	(void)state;
	for (int i = 0; i < 10; i++) {
		wait_lengths_add(&w, 9000000);
		wait_lengths_add(&w, 1000000);
	}
	assert_float_equal(wait_lengths_longest(&w, 10), 0.9, NEAR);
	assert_float_equal(wait_lengths_longest(&w, 15), 0.95, NEAR);
	wait_lengths_add(&w, INT64_MAX);
	assert_true(wait_lengths_longest(&w, 1) > 0.99);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(none_take_nothing),
		cmocka_unit_test(equal_ones_share_equally),
		cmocka_unit_test(the_longest_go_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
