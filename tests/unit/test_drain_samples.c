/* links: is_capture */
/* One thread, one id: those with a ring, and those that were only looked at. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "capture/drain/drain_state.h"

#define PROCESS 7u
#define TID 4711u

static struct ticks ticks;
static char any_sampler;

static struct drain drain_with_sampler(void)
{
	ticks_init(&ticks, SHM_CLOCK_MONOTONIC, 0);
	return (struct drain){ .ticks = &ticks,
			       .sampler = (void *)&any_sampler,
			       .next_thread = 20 };
}

/* A program that begins threads all day has each number again, and its looks are the new one's. */
static void a_thread_with_the_number_of_one_that_ended_is_another(void **state)
{
	const struct trace_thread ended = { .id = 3, .process = PROCESS, .tid = TID };
	struct drain d = drain_with_sampler();

	(void)state;
	drain_samples_remember(&d, &ended);
	assert_int_equal(d.sampled_count, 1);
	assert_int_equal(drain_samples_adopt(&d, PROCESS, TID), 20);
	assert_int_equal(d.sampled_count, 0);
	free(d.sampled);
}

static void a_thread_that_was_looked_at_before_keeps_its_id(void **state)
{
	struct sampled_thread seen = { .entry = { .id = 5, .process = PROCESS, .tid = TID },
				       .ours = true };
	struct drain d = drain_with_sampler();

	(void)state;
	d.sampled = &seen;
	d.sampled_count = d.sampled_cap = 1;
	assert_int_equal(drain_samples_adopt(&d, PROCESS, TID), 5);
	assert_int_equal(d.sampled_count, 1);
	assert_false(seen.ours);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_with_the_number_of_one_that_ended_is_another),
		cmocka_unit_test(a_thread_that_was_looked_at_before_keeps_its_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
