/* links: is_rules */
/*
 * Every rule against figures whose truth is plain: it fires above its bound, not below,
 * with a place, evidence of two kinds and three suggestions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "findings_kit.h"

static const struct truth {
	const char *id;
	void (*analyze_story)(struct made *m, double ms);
	double below_ms, above_ms, far_ms; /* around the bound; where it is clear */
	const struct place *where;
	bool without_gpu; /* is it found as well where there is none? */
} truths[] = {
	{ "cpu-preprocessing", story_of_preprocessing, 9.9, 10.1, 40, &user, true },
	{ "host-numpy", story_of_numpy, 9.9, 10.1, 40, &user, true },
	{ "pageable-copy", story_of_pageable, 4.9, 5.1, 30, &user, false },
	{ "no-overlap", story_of_pinned, 4.9, 5.1, 30, &user, false },
	{ "readback", story_of_readback, 4.9, 5.1, 30, &user, false },
	{ "sync-per-step", story_of_sync, 5.2, 5.3, 30, &user, false } /* one of 20 is needed */,
	{ "launch-bound", story_of_launches, 9.9, 10.1, 40, &launch, false },
	{ "framework-overhead", story_of_framework, 9.9, 10.1, 40, &user, false },
	{ "gpu-bound", story_of_gpu_time, 79.9, 80.1, 99, &launch, false },
	{ "gil-contention", story_of_gil, 4.9, 5.1, 30, &other, true },
	{ "cpu-oversubscribed", story_of_crowd, 9.9, 10.1, 40, &user, true },
	{ "model-reload", story_of_loading, 9.9, 10.1, 40, &user, true },
	{ "lock-contention", story_of_lock, 4.9, 5.1, 30, &other, true },
	{ "input-starvation", story_of_queue, 9.9, 10.1, 40, &user, true },
	{ "input-starvation", story_of_loader, 9.9, 10.1, 40, &user, true },
	{ "input-starvation", story_of_patience, 9.9, 10.1, 40, &user, true },
	{ "io-wait", story_of_io, 4.9, 5.1, 30, &user, false },
	{ "io-wait", story_of_sleep, 4.9, 5.1, 30, &user, false },
	{ "gc-pause", story_of_gc, 4.9, 5.1, 30, &user, true },
	{ "gc-pause", story_of_rare_gc, 19.9, 20.1, 80, &user, true },
	{ "alloc-churn", story_of_allocation, 4.9, 5.1, 30, &user, false },
	{ "jit-compile", story_of_compilation, 4.9, 5.1, 30, &user, false },
	{ "no-tensor-cores", story_of_plain_math, 29.9, 30.1, 80, &user, false },
	{ "small-batch", story_of_few_blocks, 49.9, 50.1, 90, &launch, false },
	{ "gpu-idle", story_of_idle, 9.9, 10.1, 40, &launch, false },
	{ "transfer-overhead", story_of_transfers, 19.9, 20.1, 50, &user, false },
};

#define TRUTHS (sizeof(truths) / sizeof(*truths))

static void rules_fire_above_their_bound_and_not_below(void **state)
{
	(void)state;
	for (size_t i = 0; i < TRUTHS; i++) {
		for (int above = 0; above < 2; above++) {
			struct made *m = make(true);

			truths[i].analyze_story(m, above ? truths[i].above_ms : truths[i].below_ms);
			judge_it(m);
			if (!found(m, truths[i].id) != !above)
				fail_msg("%s at %.1f ms", truths[i].id,
					 above ? truths[i].above_ms : truths[i].below_ms);
			forget(m);
		}
	}
}

static void what_is_clear_is_sure_and_has_its_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < TRUTHS; i++) {
		struct made *m = make(true);
		const struct analysis_finding *f;

		truths[i].analyze_story(m, truths[i].far_ms);
		judge_it(m);
		f = found(m, truths[i].id);
		assert_non_null(f);
		/* Without anything that explains it, it stays a likelihood. */
		if (strcmp(f->id, "transfer-overhead") != 0 && strcmp(f->id, "gpu-idle") != 0 &&
		    f->confidence < FINDING_SURE)
			fail_msg("%s: confidence %.2f", f->id, f->confidence);
		if (m->a->findings.items[0].id != f->id && strcmp(f->id, "transfer-overhead") != 0)
			fail_msg("%s comes behind %s", f->id, m->a->findings.items[0].id);
		assert_string_equal(f->where.name, truths[i].where->name);
		assert_string_equal(f->where.file, truths[i].where->file);
		assert_int_equal(f->where.line, truths[i].where->line);
		forget(m);
	}
}

/* A finding about a program without a GPU must not speak of one. */
static void expect_no_gpu(const char *id, const char *text)
{
	if (strstr(text, "GPU"))
		fail_msg("%s without a GPU: %s", id, text);
}

static void some_need_no_gpu(void **state)
{
	(void)state;
	for (size_t i = 0; i < TRUTHS; i++) {
		struct made *m;

		if (!truths[i].without_gpu)
			continue;
		m = make(false);
		truths[i].analyze_story(m, truths[i].far_ms);
		judge_it(m);
		if (!found(m, truths[i].id))
			fail_msg("%s without a GPU", truths[i].id);
		for (size_t k = 0; k < m->a->findings.count; k++) {
			const struct analysis_finding *f = &m->a->findings.items[k];

			expect_no_gpu(f->id, f->title);
			for (size_t n = 0; n < f->evidence_count; n++)
				expect_no_gpu(f->id, f->evidence[n]);
			for (size_t n = 0; n < f->suggestion_count; n++)
				expect_no_gpu(f->id, f->suggestions[n]);
		}
		forget(m);
	}
}

static void collections_that_are_asked_for_are_told_apart(void **state)
{
	(void)state;
	for (int asked = 0; asked < 2; asked++) {
		struct made *m = make(false);
		const struct analysis_finding *f;

		story_of_gc(m, 30);
		m->a->gc.by_generation[GC_GENERATIONS - 1] = asked ? 11 : 10; /* of 40 younger */
		judge_it(m);
		f = found(m, "gc-pause");
		assert_non_null(f);
		assert_int_equal(strstr(f->suggestions[0], "Remove gc.collect() from ") != NULL,
				 asked);
		forget(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_fire_above_their_bound_and_not_below),
		cmocka_unit_test(what_is_clear_is_sure_and_has_its_place),
		cmocka_unit_test(collections_that_are_asked_for_are_told_apart),
		cmocka_unit_test(some_need_no_gpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
