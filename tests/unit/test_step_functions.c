/* links: is_analyze */
/* The functions of the steps: what came before and after is not among them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "story_analysis.h"

/* Imports for 40 ms, then steps from 50 ms on: the first one is warm-up, the last ends at 90. */
#define PROGRAM                                                                     \
	"info sampler.hz 1000\nprocess 1 7 app.py 0 100000000\n"                    \
	"thread 1 1 7 MainThread 0 100000000 0\nthread 2 1 8 other 0 100000000 0\n" \
	"code _find_and_load <frozen importlib._bootstrap> 3\n"                     \
	"code load /v/site-packages/torch/x.py 5\ncode step app.py 10\n"            \
	"code prepare app.py 20\ncode Condition.wait /usr/lib/python3.12/threading.py 300\n"
#define STEPS                                                                        \
	"1: [s#1/0@50000000 ]#1@58000000 [s#2/0@58000000 ]#2@66000000 "              \
	"[s#3/0@66000000 ]#3@74000000 [s#4/0@74000000 ]#4@82000000 [s#5/0@82000000 " \
	"]#5@90000000\n"
#define SAMPLES                                                                          \
	"stack 1 load:6 _find_and_load:4\nstack 2 step:11\nstack 3 prepare:21 step:12\n" \
	"stack 4 Condition.wait:301\n"                                                   \
	"look 1 1 500000 39500000 40 1\nlook 1 3 40500000 49500000 10 1\n"               \
	"look 1 2 50500000 79500000 30 1\nlook 1 3 80500000 99500000 20 1\n"             \
	"look 2 4 500000 99500000 100 3\n"

static const struct step_function *called(const struct analysis *a, const char *name)
{
	for (size_t i = 0; i < a->in_steps.count; i++) {
		if (!strcmp(a->in_steps.items[i].name, name))
			return &a->in_steps.items[i];
	}
	return NULL;
}

static void what_came_before_and_after_is_left_out(void **state)
{
	struct story_analysis t;
	const struct analysis *a = analyze_story(&t, PROGRAM STEPS SAMPLES "end 100000000 0\n");
	const struct step_functions *s = &a->in_steps;
	int64_t until_ms, from_ms;

	(void)state;
	assert_true(s->known);
	from_ms = s->from_ns / 1000000;
	until_ms = s->until_ns / 1000000;
	assert_int_equal(until_ms, 90);
	assert_int_equal(from_ms, 50 + 8 * (int64_t)a->steps[0].warmup);
	assert_null(called(a, "load"));
	assert_null(called(a, "Condition.wait")); /* it waits */
	assert_int_equal(s->count, 2);
	assert_string_equal(s->items[0].name, "step");
	assert_int_equal(s->items[0].self_ns, (80 - from_ms) * 1000000);
	assert_int_equal(s->items[0].total_ns, (until_ms - from_ms) * 1000000);
	assert_int_equal(s->items[0].samples, 80 - from_ms);
	assert_true(s->items[0].error_ns > 0 && s->items[0].error_ns < s->items[0].self_ns);
	assert_int_equal(called(a, "prepare")->self_ns, 10000000);
	assert_int_equal(called(a, "prepare")->samples, 10);
	assert_int_equal(s->self_ns, (until_ms - from_ms) * 1000000);
	assert_int_equal(s->importing_ns, 39500000);
	forget(&t);
}

static void nothing_is_known_without_steps_or_without_looks(void **state)
{
	struct story_analysis t;

	(void)state;
	assert_false(
		analyze_story(&t, PROGRAM SAMPLES "1: +step@1000 -step@90000000\nend 100000000 0\n")
			->in_steps.known);
	forget(&t);
	assert_false(analyze_story(&t, PROGRAM STEPS "end 100000000 0\n")->in_steps.known);
	forget(&t);
	/* Looks, but none while steps lasted. */
	assert_false(analyze_story(&t,
				   PROGRAM STEPS "stack 1 load:6\nlook 1 1 500000 39500000 40 1\n"
						 "end 100000000 0\n")
			     ->in_steps.known);
	forget(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_came_before_and_after_is_left_out),
		cmocka_unit_test(nothing_is_known_without_steps_or_without_looks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
