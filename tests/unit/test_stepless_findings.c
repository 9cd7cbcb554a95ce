/* links: is_rules */
/* What is said of a run whose steps are not known: from samples to findings and verdict. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "story_analysis.h"

#include "samples_kit.h"
#include "rules/judge.h"

static struct buf story;
static struct story_analysis reported;

static int begin(void **state)
{
	(void)state;
	buf_init(&story);
	/* Of 10 s the thread has a CPU for 8. */
	buf_add_str(&story, "info gpu on\nprocess 1 7 app.py 0 10000000000\n"
			    "thread 1 1 7 MainThread 0 10000000000 0 8000000000 0\n" SAMPLED);
	see(&story, IMPORTS, 0, 3000, RUNS);
	return 0;
}

static int end(void **state)
{
	(void)state;
	buf_release(&story);
	forget(&reported);
	return 0;
}

static const struct analysis *judged(void)
{
	struct err err;

	buf_add_str(&story, "end 10000000000 0\n");
	analyze_story(&reported, buf_string(&story));
	assert_int_equal(judge(reported.analysis, NULL, &err), 0);
	return reported.analysis;
}

static const struct analysis_finding *first(const struct analysis *a, const char *id, uint32_t line)
{
	const struct analysis_finding *f = a->findings.items;

	assert_true(a->findings.count > 0);
	assert_string_equal(f->id, id);
	assert_string_equal(f->where.file, "app.py");
	assert_int_equal(f->where.line, line);
	assert_true(f->suggestion_count >= 3);
	/* There are no steps to speak of. */
	for (size_t i = 0; i < f->evidence_count; i++) {
		assert_null(strstr(f->evidence[i], "per step"));
		assert_null(strstr(f->evidence[i], "the steps"));
	}
	assert_non_null(strstr(f->evidence[0], " of the run's "));
	return f;
}

static void what_reads_wait_for_is_found(void **state)
{
	const struct analysis_finding *f;

	(void)state;
	see_loop(&story, GATHERS, WAITS_FOR_IO, 4000, 6000);
	f = first(judged(), "io-wait", 41);
	assert_true(f->confidence >= FINDING_SURE);
	assert_true(f->saving_share > 0.5 && f->saving_share < 0.8);
}

/* Without the kernel's samples one kind of record is all that there is. */
static void what_only_samples_say_is_not_sure(void **state)
{
	const struct analysis_finding *f;

	(void)state;
	see_loop(&story, GATHERS, RUNS, 4000, 6000);
	f = first(judged(), "cpu-preprocessing", 41);
	assert_true(f->confidence < FINDING_SURE && f->confidence > FINDING_LIKELY);
}

static void the_kernels_samples_make_it_sure(void **state)
{
	const struct analysis_finding *f;

	(void)state;
	see_loop(&story, GATHERS, RUNS, 4000, 6000);
	for (int at = 4100; at < 5100; at += 20)
		buf_printf(&story, "native 1 %d000000 _PyEval_EvalFrameDefault /usr/bin/python3\n",
			   at + 5);
	f = first(judged(), "cpu-preprocessing", 41);
	assert_true(f->confidence >= FINDING_SURE);
}

/* A tenth of the run had a model in it: it may be like no other. */
static void what_is_seen_in_few_parts_is_less_sure(void **state)
{
	const struct analysis_finding *f;

	(void)state;
	see(&story, CALLS_MODEL, 4000, 4015, RUNS);
	see(&story, GATHERS, 4015, 5985, WAITS_FOR_IO);
	see(&story, CALLS_MODEL, 5985, 6000, RUNS);
	f = first(judged(), "io-wait", 41);
	assert_true(f->confidence < FINDING_SURE);
}

static void who_has_the_interpreter_is_named(void **state)
{
	const struct analysis_finding *f;

	(void)state;
	buf_add_str(&story, "thread 2 1 8 other 0 10000000000 0\ncode encode app.py 80\n"
			    "stack 7 encode:82\n");
	see_loop(&story, CALLS_MODEL, WAITS_FOR_GIL, 4000, 6000);
	see_thread(&story, 2, 7, 4000, 6000, "11");
	f = first(judged(), "gil-contention", 82);
	assert_string_equal(f->where.name, "encode");
	assert_true(f->confidence >= FINDING_SURE);
}

/* Before 3.12 nobody tells of compilations but samples. */
static void what_compiles_again_is_likely(void **state)
{
	const struct analysis_finding *f;

	(void)state;
	for (int at = 4000; at < 6000; at += 100) {
		see(&story, COMPILES, at, at + 50, RUNS);
		see(&story, CALLS_MODEL, at + 50, at + 100, RUNS);
	}
	f = first(judged(), "jit-compile", 20);
	assert_true(f->confidence < FINDING_SURE && f->confidence > FINDING_LIKELY);
}

static void a_program_that_mostly_computes_has_no_finding(void **state)
{
	(void)state;
	for (int at = 4000; at < 6000; at += 20) {
		see(&story, GATHERS, at, at + 1, RUNS);
		see(&story, FORWARDS, at + 1, at + 20, RUNS);
	}
	assert_int_equal(judged()->findings.count, 0);
	assert_string_equal(reported.analysis->verdict.bound, "cpu");
}

static void a_program_without_a_model_has_no_finding(void **state)
{
	(void)state;
	see(&story, GATHERS, 3000, 5000, WAITS_FOR_IO);
	see(&story, SETS_UP, 5000, 9000, RUNS);
	assert_int_equal(judged()->findings.count, 0);
}

/* CPU time of a process in microseconds, all of which it has between 4 and 6 s. */
static void use_cpu(uint32_t process, int microseconds)
{
	buf_printf(&story,
		   "series %u rss_bytes 1@0 1@10000000000\n"
		   "series %u cpu_user_us 0@0 0@4000000000 %d@6000000000 %d@10000000000\n",
		   process, process, microseconds, microseconds);
}

static void what_waits_is_not_bound_by_the_host(void **state)
{
	const struct analysis *a;

	(void)state;
	see_loop(&story, GATHERS, WAITS_FOR_IO, 4000, 6000);
	use_cpu(1, 500000);
	a = judged();
	assert_string_equal(a->verdict.bound, "unknown");
	assert_non_null(strstr(a->verdict.because, "is waiting, mostly I/O wait"));
	assert_non_null(strstr(a->verdict.because, "(0.25 cores busy)"));
	assert_true(a->verdict.confidence > 0.5);
}

static void what_waits_for_work_of_another_process_is(void **state)
{
	(void)state;
	buf_add_str(&story, "process 2 9 worker 0 10000000000\n");
	see_loop(&story, GATHERS, WAITS_FOR_IO, 4000, 6000);
	use_cpu(1, 500000);
	use_cpu(2, 510000);
	assert_string_equal(judged()->verdict.bound, "cpu");
}

/* PyTorch is not asked when it waits for a loader's workers, but its function is seen. */
static void what_a_loader_waits_for_is_its_worker(void **state)
{
	const struct analysis_finding *f;

	(void)state;
	buf_add_str(&story,
		    "process 2 9 worker 0 10000000000\nthread 2 2 9 Worker 0 10000000000 0\n"
		    "code draw app.py 80\n"
		    "code L._get_data /v/site-packages/torch/utils/data/dataloader.py 9\n"
		    "code P.select /usr/lib/python3.11/selectors.py 30\n"
		    "stack 7 draw:82\nstack 8 P.select:31 L._get_data:10 main:22\n");
	see_loop(&story, 8, WAITS_FOR_IO, 4000, 6000);
	see_thread(&story, 2, 7, 4000, 6000, RUNS);
	use_cpu(1, 500000);
	f = first(judged(), "input-starvation", 22);
	assert_true(f->confidence >= FINDING_SURE);
	assert_non_null(strstr(f->evidence[1], "draw (app.py:82) prepares it"));
	/* The worker is ready, whatever CPU it gets: it is the host that is slow. */
	assert_string_equal(reported.analysis->verdict.bound, "cpu");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_reads_wait_for_is_found),
		TEST(what_only_samples_say_is_not_sure),
		TEST(the_kernels_samples_make_it_sure),
		TEST(what_is_seen_in_few_parts_is_less_sure),
		TEST(who_has_the_interpreter_is_named),
		TEST(what_compiles_again_is_likely),
		TEST(a_program_that_mostly_computes_has_no_finding),
		TEST(a_program_without_a_model_has_no_finding),
		TEST(what_waits_is_not_bound_by_the_host),
		TEST(what_waits_for_work_of_another_process_is),
		TEST(what_a_loader_waits_for_is_its_worker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
