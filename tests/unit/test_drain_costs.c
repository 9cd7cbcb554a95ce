/* links: is_capture */
/* What the recorder takes from the workload: whose waiting is its fault. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture/drain_state.h"

#define MS 1000000ull
#define SECOND ((int64_t)(1000 * MS))

/* Of a second in which we had `own` CPUs and so many were busy. */
static uint64_t charged_ms(double own, double busy, uint64_t ran_ms, uint64_t queued_ms)
{
	struct drain d = { .costs = { .own = own, .busy = busy } };
	struct drain_process p = { .known = true };

	drain_costs_waited(&d, &p, SECOND, ran_ms * MS, queued_ms * MS);
	return (p.outside_ns + MS / 2) / MS;
}

static void on_one_cpu_all_that_it_uses_is_missed(void **state)
{
	(void)state;
	assert_int_equal(charged_ms(0.02, 1, 980, 20), 20);
	assert_int_equal(charged_ms(0.02, 1, 500, 10), 0); /* others had the rest */
	assert_int_equal(charged_ms(0.02, 0.52, 500, 10), 10);
}

static void nobody_misses_a_cpu_that_is_free(void **state)
{
	(void)state;
	assert_int_equal(charged_ms(0.09, 1.09, 1000, 0), 0);
}

static void of_what_others_had_it_is_a_part(void **state)
{
	(void)state;
	assert_int_equal(charged_ms(0.1, 2, 500, 500), 33); /* 0.1 of 1.5 */
	assert_int_equal(charged_ms(0.1, 16, 1000, 150), 1);
}

static void nobody_misses_more_than_it_had(void **state)
{
	(void)state;
	assert_int_equal(charged_ms(0.01, 1, 995, 5000), 10);
	assert_int_equal(charged_ms(0, 1, 995, 5000), 0);
}

static void only_threads_that_run_are_disturbed_by_a_look(void **state)
{
	struct drain_process p = { .known = true, .entry = { .id = 7 } };
	struct drain d = { .processes = &p, .process_limit = 1 };
	struct sample s = { .count = 10, .flags = SAMPLE_LOCK_WAIT };
	uint64_t alone;

	(void)state;
	drain_costs_looks(&d, 7, &s);
	assert_int_equal(p.outside_ns, 0);
	s.flags = SAMPLE_RUNNING;
	drain_costs_looks(&d, 8, &s); /* of a process that is gone */
	assert_int_equal(p.outside_ns, 0);
	drain_costs_looks(&d, 7, &s);
	assert_true(p.outside_ns > 0);
	/* CPU time that it had to wait for costs it the waiting as well. */
	alone = p.outside_ns;
	p.ran_ns = 100 * MS;
	p.queued_ns = 200 * MS;
	drain_costs_looks(&d, 7, &s);
	assert_int_equal(p.outside_ns, 4 * alone);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_one_cpu_all_that_it_uses_is_missed),
		cmocka_unit_test(nobody_misses_a_cpu_that_is_free),
		cmocka_unit_test(of_what_others_had_it_is_a_part),
		cmocka_unit_test(nobody_misses_more_than_it_had),
		cmocka_unit_test(only_threads_that_run_are_disturbed_by_a_look),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
