/* links: is_rules */
/* Where findings are placed: where the user can act. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "findings_kit.h"

#define LIBRARY "/venv/lib/python3.12/site-packages"

/* Native code of a library waits for locks of its own. */
static void a_librarys_lock_is_nobodys_to_change(void **state)
{
	static const char *const inner[] = { LIBRARY "/torch/nn/modules/linear.py",
					     LIBRARY "/transformers/modeling_layers.py" };

	(void)state;
	for (size_t i = 0; i < sizeof(inner) / sizeof(*inner); i++) {
		struct made *m = make(true);

		wait_for(m, TIME_LOCK_WAIT, 60, "Linear.forward", inner[i]);
		judge_it(m);
		assert_null(found(m, "lock-contention"));
		forget(m);
		m = make(true);
		wait_for(m, TIME_LOCK_WAIT, 60, "RLock.acquire",
			 "/usr/lib/python3.12/threading.py");
		judge_it(m);
		assert_non_null(found(m, "lock-contention"));
		forget(m);
	}
}

/* Of a place in a library the user's line around it is told; without one nothing is certain. */
static void a_place_is_one_that_the_user_can_change(void **state)
{
	(void)state;
	for (int own = 0; own < 2; own++) {
		struct made *m = make(false);
		const struct analysis_finding *f;

		m->thread = (struct analysis_thread){ .pid = 7, .timed = true, .end_ns = 1000 };
		m->a->threads = &m->thread;
		m->a->thread_count = 1;
		take(m, TIME_IO_WAIT, 60);
		cause(m)->where =
			(struct place){ "Session.send", LIBRARY "/requests/sessions.py", 703 };
		if (own)
			take(m, TIME_CPU_PREPROCESSING, 4);
		judge_it(m);
		f = found(m, "io-wait");
		assert_non_null(f);
		assert_string_equal(f->where.name, own ? user.name : "Session.send");
		assert_int_equal(f->confidence >= FINDING_SURE, own);
		assert_non_null(strstr(f->evidence[own], "Session.send"));
		forget(m);
	}
}

/* Half of what Python code takes is page faults of the same function: they are a part of it. */
static void a_part_of_something_likely_is_not_certain(void **state)
{
	(void)state;
	for (int same = 0; same < 2; same++) {
		struct made *m = make(false);
		const struct analysis_finding *gc, *code;

		take(m, TIME_CPU_PREPROCESSING, 80);
		cause(m)->where = same ? user : other;
		story_of_gc(m, 15);
		judge_it(m);
		gc = found(m, "gc-pause");
		code = found(m, "cpu-preprocessing");
		assert_non_null(gc);
		assert_non_null(code);
		/* Without a model's work beside it and with one kind of record. */
		assert_true(code->confidence < FINDING_SURE && code->confidence > FINDING_LIKELY);
		assert_int_equal(gc->confidence >= FINDING_SURE, !same);
		forget(m);
	}
}

/* Where calls are too small for their threads, those wait for each other; never certain. */
static void threads_that_spin_are_too_many(void **state)
{
	(void)state;
	for (int spins = 40; spins <= 60; spins += 20) {
		struct made *m = make(false);
		const struct analysis_finding *f;

		take(m, TIME_CPU_COMPUTE, 80);
		m->native[0] =
			(struct analysis_native_row){ "gomp_barrier_wait_end",
						      "/venv/xgboost.libs/libgomp-1.so", user,
						      (uint64_t)spins, (uint64_t)spins };
		m->native[1] = (struct analysis_native_row){ "predict", "/venv/libxgboost.so", user,
							     (uint64_t)(100 - spins),
							     (uint64_t)(100 - spins) };
		m->a->native.rows = m->native;
		m->a->native.count = 2;
		m->a->native.samples = 100;
		judge_it(m);
		f = found(m, "cpu-oversubscribed");
		assert_int_equal(f != NULL, spins > 50);
		assert_true(!f || f->confidence < FINDING_SURE);
		forget(m);
	}
}

/* Lower precision helps no sort. */
static void advice_fits_the_kernels(void **state)
{
	static const struct {
		const char *kernel, *advice;
	} cases[] = {
		{ "DeviceMergeSortMergeKernel", "Select instead of sorting" },
		{ "nvjet_hsh_128x256", "lower precision" },
		{ "void at::native::vectorized_elementwise_kernel<4, AddFunctor>", "Fuse them" },
		{ "sm90_xmma_fprop_implicit_gemm_f16f16", "channels_last" },
		{ "pytorch_flash::flash_fwd_kernel", "attends to" },
		{ "someone_elses_kernel", "kernel profiler" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct made *m = make(true);
		struct gpu_kernel_figures kernel = { .name = cases[i].kernel,
						     .full_name = cases[i].kernel,
						     .total_ns = 60 * MS };
		bool precision = false;

		m->section.kernels = &kernel;
		m->section.kernel_count = 1;
		judge_it(m);
		assert_non_null(found(m, "gpu-bound"));
		assert_non_null(strstr(found(m, "gpu-bound")->suggestions[0], cases[i].advice));
		for (size_t k = 0; k < found(m, "gpu-bound")->suggestion_count; k++)
			precision |= strstr(found(m, "gpu-bound")->suggestions[k],
					    "lower precision") != NULL;
		assert_int_equal(precision, i == 1);
		forget(m);
	}
}

/* A wait is no part of what the function that waits computes. */
static void a_wait_is_no_part_of_work(void **state)
{
	struct made *m = make(false);

	(void)state;
	take(m, TIME_CPU_PREPROCESSING, 50);
	story_of_queue(m, 14);
	m->thread = (struct analysis_thread){ .pid = 7, .timed = true, .end_ns = 1000 };
	m->a->threads = &m->thread;
	m->a->thread_count = 1;
	judge_it(m);
	assert_true(found(m, "cpu-preprocessing")->confidence < FINDING_SURE);
	assert_true(found(m, "input-starvation")->confidence >= FINDING_SURE);
	forget(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_librarys_lock_is_nobodys_to_change),
		cmocka_unit_test(a_place_is_one_that_the_user_can_change),
		cmocka_unit_test(a_part_of_something_likely_is_not_certain),
		cmocka_unit_test(a_wait_is_no_part_of_work),
		cmocka_unit_test(threads_that_spin_are_too_many),
		cmocka_unit_test(advice_fits_the_kernels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
