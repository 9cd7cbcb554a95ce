/* links: is_analyze */
/* A run whose steps are not known: what of it is judged, by samples alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "breakdown_kit.h"
#include "story_analysis.h"

#include "samples_kit.h"

#define MS INT64_C(1000000)

static struct buf story;

static void start_over(void)
{
	buf_clear(&story);
	buf_add_str(&story, "process 1 7 app.py 0 10000000000\n"
			    "thread 1 1 7 MainThread 0 10000000000 0\n" SAMPLED);
}

static int begin(void **state)
{
	(void)state;
	buf_init(&story);
	start_over();
	return 0;
}

static int end(void **state)
{
	(void)state;
	buf_release(&story);
	return 0;
}

static const struct analysis *told_so_far(struct story_analysis *t)
{
	buf_add_str(&story, "end 10000000000 0\n");
	return analyze_story(t, buf_string(&story));
}

static void expect(const struct analysis *a, int64_t begin_ms, int64_t until_ms)
{
	assert_int_equal(a->step_count, 1);
	assert_int_equal(a->steps[0].source, STEP_WHOLE_RUN);
	assert_string_equal(a->steps[0].name, "from the model's first call to its last");
	assert_int_equal(a->steps[0].begin_ns, begin_ms * MS);
	assert_int_equal(a->steps[0].until_ns, until_ms * MS);
	check_sum(&a->steps[0].breakdown);
	assert_int_equal(a->steps[0].breakdown.total_ns, (until_ms - begin_ms) * MS);
}

static void expect_whole_run(const struct analysis *a)
{
	assert_string_equal(a->steps[0].name, "whole run");
	assert_int_equal(a->steps[0].model_parts, 0);
	assert_false(a->in_steps.known);
}

static void imports_set_up_and_the_end_are_no_part_of_it(void **state)
{
	const struct analysis *a;
	struct story_analysis t;

	(void)state;
	see(&story, IMPORTS, 0, 3000, RUNS);
	see(&story, SETS_UP, 3000, 4000, RUNS);
	see_loop(&story, GATHERS, RUNS, 4000, 6000);
	see(&story, SETS_UP, 6000, 7000, RUNS);
	a = told_so_far(&t);
	expect(a, 4015, 6000);
	assert_int_equal(a->steps[0].model_parts, 10);
	assert_int_equal(part(a->steps, TIME_CPU_COMPUTE), 500 * MS);
	assert_int_equal(part(a->steps, TIME_CPU_PREPROCESSING), 1485 * MS);
	assert_true(a->in_steps.known);
	assert_int_equal(a->in_steps.count, 2);
	assert_string_equal(a->in_steps.items[0].name, "gather");
	assert_int_equal(a->in_steps.importing_ns, 3000 * MS - MS / 2); /* looks begin late */
	forget(&t);
}

static void a_trial_before_a_long_pause_is_none(void **state)
{
	struct story_analysis t;

	(void)state;
	see(&story, CALLS_MODEL, 1000, 1025, RUNS);
	see(&story, SETS_UP, 1025, 3000, RUNS);
	see_loop(&story, GATHERS, RUNS, 3000, 6000);
	see(&story, SETS_UP, 6000, 7000, RUNS);
	expect(told_so_far(&t), 3015, 6000);
	forget(&t);
}

/* Steps of a second, of which a model takes 25 ms: each pause is as long as the others. */
static void rare_calls_are_no_trials(void **state)
{
	const struct analysis *a;
	struct story_analysis t;

	(void)state;
	for (int i = 0; i < 5; i++) {
		see(&story, CALLS_MODEL, 1000 * i, 1000 * i + 25, RUNS);
		see(&story, GATHERS, 1000 * i + 25, 1000 * (i + 1), RUNS);
	}
	a = told_so_far(&t);
	/* The first look stands for the time from itself on. */
	assert_int_equal(a->steps[0].begin_ns, MS / 2);
	assert_int_equal(a->steps[0].until_ns, 4025 * MS);
	assert_int_equal(a->steps[0].model_parts, 6); /* the third one lies in two */
	forget(&t);
}

static void what_first_calls_import_and_compile_is_start(void **state)
{
	const struct analysis *a;
	struct story_analysis t;

	(void)state;
	see(&story, CALLS_MODEL, 1000, 1010, RUNS);
	see(&story, IMPORTS, 1010, 1500, RUNS);
	see(&story, COMPILES, 1500, 2500, RUNS);
	see_loop(&story, GATHERS, RUNS, 2500, 6000);
	see(&story, SETS_UP, 6000, 7000, RUNS);
	a = told_so_far(&t);
	expect(a, 2500, 6000);
	assert_int_equal(part(a->steps, TIME_COMPILE), 0);
	forget(&t);
}

static void what_is_compiled_again_later_is_no_start(void **state)
{
	const struct analysis *a;
	struct story_analysis t;

	(void)state;
	for (int at = 1000; at < 6000; at += 100) {
		see(&story, COMPILES, at, at + 80, RUNS);
		see(&story, CALLS_MODEL, at + 80, at + 100, RUNS);
	}
	a = told_so_far(&t);
	assert_true(a->steps[0].begin_ns <= 3500 * MS);
	assert_true(part(a->steps, TIME_COMPILE) > 0.7 * (double)a->steps[0].breakdown.total_ns);
	forget(&t);
}

static void a_start_of_more_than_half_stays(void **state)
{
	struct story_analysis t;

	(void)state;
	see(&story, SETS_UP, 0, 1000, RUNS);
	see(&story, COMPILES, 1000, 4000, RUNS);
	see_loop(&story, GATHERS, RUNS, 4000, 6000);
	see(&story, SETS_UP, 6000, 7000, RUNS);
	expect(told_so_far(&t), 1000, 6000);
	forget(&t);
}

static void so_few_looks_say_nothing(void **state)
{
	(void)state;
	for (int samples = 19; samples <= 20; samples++) {
		struct story_analysis t;

		start_over();
		see(&story, SETS_UP, 0, 1000, RUNS);
		see(&story, CALLS_MODEL, 1000, 1000 + samples, RUNS);
		see(&story, SETS_UP, 1000 + samples, 2000, RUNS);
		if (samples < 20)
			expect_whole_run(told_so_far(&t));
		else
			expect(told_so_far(&t), 1000, 1020);
		forget(&t);
	}
}

static void without_a_model_it_is_the_whole_run(void **state)
{
	struct story_analysis t;

	(void)state;
	see(&story, IMPORTS, 0, 3000, RUNS);
	see(&story, GATHERS, 3000, 6000, RUNS);
	expect_whole_run(told_so_far(&t));
	forget(&t);
}

/* The one that calls models for longest, whatever process it is of. */
static void the_thread_that_infers_is_judged(void **state)
{
	const struct analysis *a;
	struct story_analysis t;

	(void)state;
	buf_add_str(&story, "process 2 9 worker 0 10000000000\n"
			    "thread 2 2 9 Worker 0 10000000000 0\n");
	see(&story, GATHERS, 0, 1000, RUNS);
	see(&story, CALLS_MODEL, 1000, 1100, RUNS);
	see(&story, GATHERS, 1100, 6000, RUNS);
	see_thread(&story, 2, SETS_UP, 0, 2000, RUNS);
	see_thread(&story, 2, CALLS_MODEL, 2000, 5000, RUNS);
	see_thread(&story, 2, SETS_UP, 5000, 6000, RUNS);
	a = told_so_far(&t);
	expect(a, 2000, 5000);
	assert_int_equal(a->steps[0].pid, 9);
	assert_int_equal(a->use.thread, 1);
	assert_int_equal(part(a->steps, TIME_CPU_COMPUTE), 3000 * MS);
	forget(&t);
}

/* Operators that a model's own forward() calls are no Python calls. */
static void a_models_own_code_is_the_model(void **state)
{
	const struct analysis *a;
	struct story_analysis t;

	(void)state;
	see(&story, SETS_UP, 0, 1000, RUNS);
	see(&story, FORWARDS, 1000, 5000, RUNS);
	see(&story, SETS_UP, 5000, 6000, RUNS);
	a = told_so_far(&t);
	expect(a, 1000, 5000);
	assert_int_equal(part(a->steps, TIME_CPU_COMPUTE), 4000 * MS);
	forget(&t);
}

/* Calls of a model that are recorded as well: main calls it so many times, 10 ms each. */
static void story_of_calls(int count)
{
	buf_add_str(&story, "layer 1 0 Net -\n1: +main@1000000000");
	for (int i = 0; i < count; i++)
		buf_printf(&story, " <1@%d000000 </1@%d000000", 1000 + 10 * i, 1005 + 10 * i);
	buf_printf(&story, " |0@%d000000\n", 1000 + 10 * count);
}

static void steps_of_a_burst_that_are_few_are_not_what_is_judged(void **state)
{
	(void)state;
	for (int count = 4; count <= 8; count += 4) {
		const struct analysis *a;
		struct story_analysis t;

		start_over();
		story_of_calls(count);
		see(&story, SETS_UP, 0, 1000, RUNS);
		see_loop(&story, GATHERS, RUNS, 1000, count < 5 ? 6000 : 1100);
		a = told_so_far(&t);
		assert_int_equal(a->steps[0].source == STEP_WHOLE_RUN, count < 5);
		assert_int_equal(a->steps[0].model_parts, count < 5 ? 10 : 0);
		forget(&t);
	}
}

/* As many as one likes: all of them come from the last burst. */
static void steps_of_one_part_are_not_what_is_judged(void **state)
{
	for (int until = 1150; until <= 6000; until += 4850) {
		const struct analysis *a;
		struct story_analysis t;

		(void)state;
		start_over();
		story_of_calls(8);
		see(&story, SETS_UP, 0, 1000, RUNS);
		see_loop(&story, GATHERS, RUNS, 1000, until);
		a = told_so_far(&t);
		assert_int_equal(a->steps[0].source == STEP_WHOLE_RUN, until == 6000);
		forget(&t);
	}
}

/* All that there is: samples see no more of it. */
static void few_steps_that_are_all_are_kept(void **state)
{
	const struct analysis *a;
	struct story_analysis t;

	(void)state;
	story_of_calls(4);
	see(&story, SETS_UP, 0, 1000, RUNS);
	see(&story, CALLS_MODEL, 1000, 1040, RUNS);
	a = told_so_far(&t);
	assert_int_not_equal(a->steps[0].source, STEP_WHOLE_RUN);
	forget(&t);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(imports_set_up_and_the_end_are_no_part_of_it),
		TEST(a_trial_before_a_long_pause_is_none),
		TEST(rare_calls_are_no_trials),
		TEST(what_first_calls_import_and_compile_is_start),
		TEST(what_is_compiled_again_later_is_no_start),
		TEST(a_start_of_more_than_half_stays),
		TEST(so_few_looks_say_nothing),
		TEST(without_a_model_it_is_the_whole_run),
		TEST(the_thread_that_infers_is_judged),
		TEST(a_models_own_code_is_the_model),
		TEST(steps_of_a_burst_that_are_few_are_not_what_is_judged),
		TEST(steps_of_one_part_are_not_what_is_judged),
		TEST(few_steps_that_are_all_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
