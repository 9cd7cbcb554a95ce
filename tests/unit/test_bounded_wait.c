/* links: is_agent_core */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/core/bounded_wait.h"

static bool count_down(void *left)
{
	return (*(int *)left)-- <= 0;
}

static bool never(void *calls)
{
	++*(int *)calls;
	return false;
}

static void what_is_done_is_not_waited_for(void **state)
{
	int left = 0;

	(void)state;
	assert_true(bounded_wait(count_down, &left, 0));
	assert_int_equal(left, -1); /* it was called once */
}

static void what_will_be_done_is_waited_for(void **state)
{
	int left = 5;

	(void)state;
	assert_true(bounded_wait(count_down, &left, 60000));
	assert_int_equal(left, -1);
}

static void what_is_never_done_is_given_up(void **state)
{
	int calls = 0;

	(void)state;
	assert_false(bounded_wait(never, &calls, 1));
	assert_true(calls >= 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_done_is_not_waited_for),
		cmocka_unit_test(what_will_be_done_is_waited_for),
		cmocka_unit_test(what_is_never_done_is_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
