/* links: is_capture */
/* What the sampler has seen, on its way to a main thread that does not come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture/sampler/sampler_parts.h"

#define RUNS 300000u /* more than wait */
#define EQUAL 3u     /* looks in a run */

static void looks_that_find_no_room_are_counted_one_by_one(void **state)
{
	struct sample_run run = { .process = 1, .tid = 2 };
	struct sampler_taken out = { 0 }, ready = { 0 };
	uint64_t dropped = 0;

	(void)state;
	for (uint32_t i = 0; i < RUNS * EQUAL; i++) {
		const struct sample sample = { .stack = 1 + i / EQUAL, .first_ns = i };

		sample_run_add(&run, &out, &sample, 0, &dropped);
	}
	sample_run_end(&run, &out, RUNS, &dropped);
	assert_int_equal(dropped, 0);
	sampler_taken_append(&ready, &out, &dropped);
	assert_int_equal(ready.sample_count, 0);
	assert_int_equal(dropped, RUNS * EQUAL);
	sampler_taken_release(&out);
	sampler_taken_release(&ready);
}

/*
 * A thread waits in read(), which line() called.  A sample of it that is given up, or whose stack
 * was read when it was back in line(), must not stand for its waits from then on.
 */
static void a_stack_from_elsewhere_is_not_repeated(void **state)
{
	const struct sample waiting = { .stack = 1, .count = 1, .flags = SAMPLE_IO_WAIT };
	const struct py_frame in_read = { .code = 0x1000, .instruction = 0x1100 };
	struct py_stack stack = { .count = 2, .frames = { in_read, { 0x2000, 0x2200 } } };
	struct wait_place w = { 0 };

	(void)state;
	assert_false(wait_place_same(&w, 7, &waiting, SAMPLE_IO_WAIT, 0));
	wait_place_set(&w, 7, &in_read, &stack);
	assert_true(wait_place_same(&w, 7, &waiting, SAMPLE_IO_WAIT, 0));
	assert_false(wait_place_same(&w, 7, &waiting, SAMPLE_LOCK_WAIT, 0));
	/* That one was given up: the latest sample is still of place 7, and the thread was at 8. */
	wait_place_set(&w, 7, &in_read, &stack);
	assert_false(wait_place_same(&w, 8, &waiting, SAMPLE_IO_WAIT, 0));
	assert_false(wait_place_same(&w, 8, &waiting, SAMPLE_IO_WAIT, 0));
	/* It went on between the two reads. */
	stack.count = 1;
	stack.frames[0] = (struct py_frame){ 0x2000, 0x2204 };
	wait_place_set(&w, 7, &in_read, &stack);
	assert_false(wait_place_same(&w, 7, &waiting, SAMPLE_IO_WAIT, 0));
	stack.frames[0] = in_read;
	stack.unstable = true;
	wait_place_set(&w, 7, &in_read, &stack);
	assert_false(wait_place_same(&w, 7, &waiting, SAMPLE_IO_WAIT, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(looks_that_find_no_room_are_counted_one_by_one),
		cmocka_unit_test(a_stack_from_elsewhere_is_not_repeated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
