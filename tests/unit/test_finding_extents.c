/* links: is_rules */
/* How far causes reach: what else belongs to them, and what makes it sure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "findings_kit.h"

/* A queue that is never empty makes it sure that there is more to put into a call. */
static void requests_that_wait_could_be_one_batch(void **state)
{
	double alone = 0;

	(void)state;
	for (int queued = 0; queued < 2; queued++) {
		struct made *m = make(true);
		const struct analysis_finding *f;

		story_of_few_blocks(m, 80);
		m->layers[0].sum.calls = STEPS; /* one for each step */
		m->a->use.waits.count = STEPS;
		m->a->steps[0].service.busy_share = 0.99;
		take(m, TIME_CPU_PREPROCESSING, 1);
		if (queued)
			cause(m)->inner =
				(struct place){ "Queue._get", "/usr/lib/python3.12/queue.py", 217 };
		judge_it(m);
		f = found(m, "small-batch");
		assert_non_null(f);
		if (queued)
			assert_true(f->confidence > alone && f->saving_low_ns > 20e6);
		alone = f->confidence;
		forget(m);
	}
}

/* What one function maps another one of the file drops: both belong to the faults. */
static void memory_that_is_mapped_is_unmapped(void **state)
{
	static const struct place dropped = { "look", "/srv/app/serve.py", 90 };
	double alone_ns = 0, sure = 0;

	(void)state;
	for (int drops = 0; drops < 2; drops++) {
		struct made *m = make(true);

		take(m, TIME_PAGE_FAULTS, 30);
		take(m, TIME_CPU_PREPROCESSING, 20);
		cause(m)->where = drops ? dropped : other;
		judge_it(m);
		assert_non_null(found(m, "page-faults"));
		assert_non_null(found(m, "cpu-preprocessing"));
		if (drops) {
			assert_true(found(m, "page-faults")->saving_ns > alone_ns + 9e6);
			assert_true(found(m, "cpu-preprocessing")->confidence < sure);
		}
		alone_ns = found(m, "page-faults")->saving_ns;
		sure = found(m, "cpu-preprocessing")->confidence;
		forget(m);
	}
}

/* The weights' way to the GPU is a part of loading them. */
static void copies_of_what_is_loaded_belong_to_the_loading(void **state)
{
	struct made *m = make(true);

	(void)state;
	story_of_loading(m, 40);
	story_of_pageable(m, 20);
	judge_it(m);
	assert_non_null(found(m, "model-reload"));
	assert_true(found(m, "model-reload")->saving_ns >= 60e6 - 1);
	assert_null(found(m, "pageable-copy"));
	forget(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_that_wait_could_be_one_batch),
		cmocka_unit_test(memory_that_is_mapped_is_unmapped),
		cmocka_unit_test(copies_of_what_is_loaded_belong_to_the_loading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
