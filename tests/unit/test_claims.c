/* links: is_rules */
/* Time that two findings see is saved once. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "findings_kit.h"
#include "rules/saving.h"

/* The host's own time that nothing hides, because it waits for the GPU again and again. */
static void wait_and_work(struct made *m, double wait_ms, double work_ms)
{
	story_of_sync(m, wait_ms);
	m->a->steps[0].breakdown.cause_count = 0;
	take(m, TIME_FRAMEWORK, work_ms);
	cause(m)->where = launch;
}

static void what_a_wait_exposes_is_no_overhead(void **state)
{
	struct made *m = make(true);

	(void)state;
	/* All of the idle time follows the waits: without them the GPU would hide the rest. */
	wait_and_work(m, 10, 20);
	m->a->use.waits.ns = 40 * MS;
	judge_it(m);
	assert_non_null(found(m, "sync-per-step"));
	assert_null(found(m, "framework-overhead"));
	forget(m);

	m = make(true);
	story_of_framework(m, 20);
	judge_it(m);
	assert_non_null(found(m, "framework-overhead"));
	forget(m);
}

/* A part is left to it: less saving, and less sure. */
static void what_is_left_is_still_said(void **state)
{
	struct made *m = make(true);
	const struct analysis_finding *f;
	double alone_ns, alone;

	(void)state;
	story_of_framework(m, 40);
	judge_it(m);
	f = found(m, "framework-overhead");
	assert_non_null(f);
	alone_ns = f->saving_ns;
	alone = f->confidence;
	forget(m);

	m = make(true);
	wait_and_work(m, 0, 40);
	m->a->use.waits = (struct gpu_usage_sum){ 20 * STEPS, 0, 25 * MS };
	m->a->use.after_wait.ns = 25 * MS;
	judge_it(m);
	assert_string_equal(m->a->findings.items[0].id, "sync-per-step");
	f = found(m, "framework-overhead");
	assert_non_null(f);
	assert_true(f->saving_ns < 0.5 * alone_ns);
	assert_true(f->confidence < alone);
	assert_non_null(strstr(f->evidence[f->evidence_count - 1], "other findings already"));
	forget(m);
}

static void other_times_are_nobodys_concern(void **state)
{
	struct made *m = make(true);

	(void)state;
	story_of_gil(m, 30);
	story_of_io(m, 20);
	judge_it(m);
	assert_true(found(m, "gil-contention")->saving_ns == 30e6);
	assert_true(found(m, "io-wait")->saving_ns > 15e6);
	assert_true(found(m, "io-wait")->confidence >= FINDING_SURE);
	forget(m);
}

/* The rest goes with a cause in the share that it has of all that is not the GPU's. */
static void what_goes_with_a_cause_is_in_the_range(void **state)
{
	static const struct {
		double cause_ms, rest_ms, most_ms;
	} cases[] = {
		{ 90, 10, 90 + 10 * 0.9 },
		{ 20, 60, 20 + 60 * 20.0 / 80 },
		{ 30, 0, 30 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct made *m = make(true);
		const struct analysis_finding *f;
		double span_ms, fix_ms, width_ms;

		story_of_gc(m, cases[i].cause_ms);
		take(m, TIME_UNATTRIBUTED, cases[i].rest_ms);
		judge_it(m);
		f = found(m, "gc-pause");
		assert_true(fabs(f->saving_ns - (cases[i].cause_ms + cases[i].most_ms) / 2 * 1e6) <
			    1e3);
		/* Each of it is as likely: the interval takes four fifths of it, and what fixes
		 * differ by. */
		span_ms = 0.8 * (cases[i].most_ms - cases[i].cause_ms);
		fix_ms = SAVING_FIX_SPREAD * sqrt(f->saving_ns / 1e6 * (100 - f->saving_ns / 1e6));
		width_ms = (f->saving_high_ns - f->saving_low_ns) / 1e6;
		assert_true(width_ms > span_ms - 1.2 &&
			    width_ms < span_ms + 2 * 1.28 * fix_ms + 1.2);
		forget(m);
	}
}

/* Asking for a value costs the host time on the line that waits for it: one cause, not three. */
static void asking_belongs_to_the_wait(void **state)
{
	for (int same = 0; same < 2; same++) {
		struct made *m = make(true);

		(void)state;
		story_of_sync(m, 20);
		m->a->steps[0].breakdown.cause_count = 0;
		take(m, TIME_SYNC_WAIT, 20);
		take(m, TIME_CPU_PREPROCESSING, 25);
		if (!same)
			cause(m)->where = other;
		judge_it(m);
		assert_non_null(found(m, "sync-per-step"));
		assert_int_equal(found(m, "cpu-preprocessing") == NULL, same);
		assert_int_equal(found(m, "sync-per-step")->saving_high_ns > 44e6, same);
		forget(m);
	}
}

/* Just above its bound a finding is likely, at twice the bound sure, whatever its evidence. */
static void little_is_never_sure(void **state)
{
	(void)state;
	for (int ms = 6; ms <= 12; ms += 3) {
		struct made *m = make(true);
		const struct analysis_finding *f;

		story_of_gil(m, ms);
		m->thread = (struct analysis_thread){ .timed = true, .end_ns = 1000 };
		m->a->threads = &m->thread;
		m->a->thread_count = 1;
		judge_it(m);
		f = found(m, "gil-contention");
		assert_non_null(f);
		assert_true(f->confidence >= FINDING_LIKELY - 0.1);
		assert_int_equal(f->confidence >= FINDING_SURE, ms >= 9);
		forget(m);
	}
}

/* Collections in steps that are slow for another reason are not why they are slow. */
static void rare_pauses_are_what_makes_steps_slow(void **state)
{
	(void)state;
	for (int other_ms = 0; other_ms <= 5000; other_ms += 5000) {
		struct made *m = make(true);
		struct slow_steps *s = &m->a->steps[0].breakdown.slow;

		story_of_gc(m, 1);
		m->slow[0] = (struct slow_cause){ *cause(m), 40e6 };
		*s = (struct slow_steps){ .steps = 5,
					  .typical_steps = 20,
					  .mean_ns = (140 + other_ms) * 1e6,
					  .typical_mean_ns = 100e6,
					  .cause_count = 1,
					  .causes = m->slow };
		judge_it(m);
		assert_int_equal(found(m, "gc-pause") != NULL, !other_ms);
		s->causes = NULL;
		forget(m);
	}
}

/* A model that was captured is called by launches of its graph. */
static void graphs_launched_in_turn_are_small_batches(void **state)
{
	struct made *m = make(true);

	(void)state;
	take(m, TIME_LAUNCH, 10);
	m->a->use.few_blocks = (struct gpu_usage_sum){ 100 * STEPS, 0, 85 * MS };
	m->a->use.few_blocks_idle_ns = 60.0 * MS;
	m->a->use.calls[CUDA_CALL_GRAPH_LAUNCH] = (struct gpu_usage_sum){ 16 * STEPS, 0, 10 * MS };
	m->a->use.waits = (struct gpu_usage_sum){ STEPS, 0, 1 };
	judge_it(m);
	assert_string_equal(m->a->findings.items[0].id, "small-batch");
	assert_true(m->a->findings.items[0].confidence >= FINDING_SURE);
	forget(m);
}

/* New arrays are mapped page by page: on the GPU there would be neither, whichever is more. */
static void arrays_are_mapped_for_numpy(void **state)
{
	(void)state;
	for (int mostly_faults = 0; mostly_faults < 2; mostly_faults++) {
		struct made *m = make(true);

		story_of_numpy(m, mostly_faults ? 2 : 30);
		take(m, TIME_PAGE_FAULTS, mostly_faults ? 50 : 20);
		m->a->steps[0].memory.steps = STEPS;
		m->a->steps[0].memory.minor_faults =
			(struct memory_per_step){ .known = true, .mean = 140000 };
		judge_it(m);
		assert_string_equal(m->a->findings.items[0].id,
				    mostly_faults ? "page-faults" : "host-numpy");
		assert_int_equal(m->a->findings.count, 1);
		forget(m);
	}
}

/* A copy to the host is no wait; what it waits for before it begins is. */
static void a_readback_is_no_wait(void **state)
{
	struct made *m = make(true);

	(void)state;
	story_of_readback(m, 60);
	take(m, TIME_LAUNCH, 20);
	m->a->use.waits = (struct gpu_usage_sum){ 2 * STEPS, 0, 1 };
	judge_it(m);
	assert_non_null(found(m, "readback"));
	assert_null(found(m, "sync-per-step"));
	m->a->findings.count = 0;
	m->a->use.d2h.call_ns += 20 * MS;
	judge_it(m);
	assert_non_null(found(m, "sync-per-step"));
	forget(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_wait_exposes_is_no_overhead),
		cmocka_unit_test(what_is_left_is_still_said),
		cmocka_unit_test(other_times_are_nobodys_concern),
		cmocka_unit_test(what_goes_with_a_cause_is_in_the_range),
		cmocka_unit_test(asking_belongs_to_the_wait),
		cmocka_unit_test(little_is_never_sure),
		cmocka_unit_test(rare_pauses_are_what_makes_steps_slow),
		cmocka_unit_test(graphs_launched_in_turn_are_small_batches),
		cmocka_unit_test(arrays_are_mapped_for_numpy),
		cmocka_unit_test(a_readback_is_no_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
