/* links: is_capture */
/* Whether somebody else is busy on our core, by what a piece of work takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture/shared_core.h"

static void took(struct shared_core *s, unsigned times, double ns)
{
	for (unsigned i = 0; i < times; i++)
		shared_core_took(s, ns);
}

static void a_core_of_its_own_is_not_shared(void **state)
{
	struct shared_core s = { 0 };

	(void)state;
	took(&s, 50, 1000);
	took(&s, 50, 1100); /* clocks change */
	took(&s, 50, 1000);
	assert_true(s.share == 0);
}

static void beside_somebody_busy_it_is(void **state)
{
	struct shared_core s = { 0 };

	(void)state;
	took(&s, 5, 1000);
	took(&s, 100, 1800);
	assert_true(s.share > 0.95);
	took(&s, 100, 1000); /* the host has moved us */
	assert_true(s.share < 0.05);
}

static void some_of_the_time_is_a_share_of_it(void **state)
{
	struct shared_core s = { 0 };

	(void)state;
	for (unsigned i = 0; i < 200; i++)
		shared_core_took(&s, i % 2 ? 1000 : 1800);
	assert_true(s.share > 0.4 && s.share < 0.6);
}

static void it_is_known_when_there_is_something_to_compare_with(void **state)
{
	struct shared_core s = { 0 };

	(void)state;
	took(&s, 50, 1800);
	assert_true(s.share == 0);
	took(&s, 1, 1000);
	took(&s, 100, 1800);
	assert_true(s.share > 0.95);
}

static void what_interrupted_it_says_nothing(void **state)
{
	struct shared_core s = { 0 };

	(void)state;
	took(&s, 5, 1000);
	took(&s, 100, 20000);
	assert_true(s.share == 0);
}

static void it_looks_at_this_machine(void **state)
{
	struct shared_core s = { 0 };

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		shared_core_look(&s);
	assert_true(s.best_ns > 100 && s.best_ns < 1e6);
	assert_true(s.share >= 0 && s.share <= 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_core_of_its_own_is_not_shared),
		cmocka_unit_test(beside_somebody_busy_it_is),
		cmocka_unit_test(some_of_the_time_is_a_share_of_it),
		cmocka_unit_test(it_is_known_when_there_is_something_to_compare_with),
		cmocka_unit_test(what_interrupted_it_says_nothing),
		cmocka_unit_test(it_looks_at_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
