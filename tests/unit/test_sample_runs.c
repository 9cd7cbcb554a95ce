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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(looks_that_find_no_room_are_counted_one_by_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
