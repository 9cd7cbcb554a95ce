/* links: is_rules */
/*
 * What native samples say of the host's time: operators that cost more than they compute, Python
 * code inside of a model, calls of a model that could be one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "findings_kit.h"

#define TORCH "/venv/torch/lib/libtorch_cpu.so"

static const struct place linear = { "Linear.forward",
				     "/venv/lib/python3.12/site-packages/torch/nn/modules/"
				     "linear.py",
				     120 };

/* The kernel's samples below a function, while the steps lasted. */
static void sample(struct made *m, const struct place *below, uint64_t kernel, uint64_t dispatch,
		   uint64_t python)
{
	const struct analysis_native_row rows[] = {
		{ "mkl_blas_def_sgemm_kernel_0_zen", TORCH, *below, kernel, kernel },
		{ "at::_ops::mul_Tensor::call(at::Tensor const&)", TORCH, *below, dispatch,
		  dispatch },
		{ "_PyEval_EvalFrameDefault", "/usr/bin/python3", *below, python, python },
		/* Whoever called it. */
		{ "malloc", "/usr/lib/libc.so.6", *below, 500, 500 },
	};

	memcpy(m->native, rows, sizeof(rows));
	m->a->native.rows = m->native;
	m->a->native.count = sizeof(rows) / sizeof(rows[0]);
}

/* Operators that a function of the user's calls by itself: 80 ms of each step. */
static struct made *own_operators(uint64_t kernel, uint64_t dispatch, uint64_t python)
{
	struct made *m = make(false);

	take(m, TIME_CPU_PREPROCESSING, 80);
	sample(m, &user, kernel, dispatch, python);
	return m;
}

static void small_operators_are_told_from_large_ones(void **state)
{
	static const struct {
		uint64_t kernel, dispatch, python;
		const char *first; /* NULL: nothing is found */
	} cases[] = {
		{ 20, 60, 20, "framework-overhead" },
		{ 48, 40, 12, "framework-overhead" },
		{ 52, 40, 8, NULL },
		{ 95, 4, 1, NULL },
		/* Few samples tell nothing: operators are the program's work then. */
		{ 4, 12, 3, NULL },
		/* It is Python that works. */
		{ 5, 20, 75, "cpu-preprocessing" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct made *m = own_operators(cases[i].kernel, cases[i].dispatch, cases[i].python);
		const struct analysis_findings *f = &m->a->findings;

		judge_it(m);
		if (f->count != (cases[i].first ? 1u : 0u))
			fail_msg("case %zu: %zu findings", i, f->count);
		if (f->count)
			assert_string_equal(f->items[0].id, cases[i].first);
		forget(m);
	}
}

static void small_operators_are_sure_and_have_a_line(void **state)
{
	struct made *m = own_operators(20, 60, 20);
	const struct analysis_finding *f;

	(void)state;
	judge_it(m);
	f = found(m, "framework-overhead");
	assert_non_null(f);
	assert_true(f->confidence >= FINDING_SURE);
	assert_string_equal(f->where.name, "prepare");
	assert_int_equal(f->where.line, 41);
	/* Four fifths of the 80 ms are the way; all of it may go. */
	assert_true(f->saving_ns > 71e6 && f->saving_ns < 73e6);
	assert_true(f->saving_low_ns > 55e6 && f->saving_high_ns < 89e6);
	assert_null(strstr(f->evidence[0], "GPU"));
	forget(m);
}

/* Small layers of a model, by the functions of the framework that they are in. */
static void small_layers_are_small_operators(void **state)
{
	struct made *m = make(false);

	(void)state;
	take(m, TIME_CPU_COMPUTE, 90);
	cause(m)->inner = linear;
	sample(m, &linear, 20, 50, 30);
	judge_it(m);
	assert_string_equal(m->a->findings.items[0].id, "framework-overhead");
	assert_int_equal(m->a->findings.items[0].where.line, 41);
	forget(m);
}

/* With a GPU their launches tell; and neither a compilation nor an import is overhead. */
static void neither_of_a_gpu_nor_of_a_compiler(void **state)
{
	struct step_function compiler = { .name = "_compile_inner",
					  .file = "/venv/torch/_dynamo/convert_frame.py",
					  .total_ns = STEP_MS * MS / 10 };
	struct made *m = make(true);

	(void)state;
	take(m, TIME_CPU_PREPROCESSING, 80);
	sample(m, &user, 20, 60, 20);
	judge_it(m);
	assert_null(found(m, "framework-overhead"));
	forget(m);
	m = own_operators(20, 60, 20);
	m->a->in_steps = (struct step_functions){
		.known = true, .self_ns = 100, .count = 1, .items = &compiler
	};
	judge_it(m);
	assert_null(found(m, "framework-overhead"));
	forget(m);
	for (int whole = 0; whole < 2; whole++) {
		struct place module = { "<module>", "/srv/app/serve.py", 3 };

		m = make(false);
		take(m, TIME_CPU_COMPUTE, 80);
		cause(m)->where = module;
		cause(m)->inner = linear;
		sample(m, &linear, 20, 60, 20);
		if (whole)
			m->a->steps[0].source = STEP_WHOLE_RUN;
		judge_it(m);
		assert_int_equal(found(m, "framework-overhead") == NULL, whole);
		forget(m);
	}
}

/* The user's own forward(): by its place it is the framework's, with a GPU or without. */
static void python_inside_of_a_model_is_told_with_its_line(void **state)
{
	static const struct {
		bool gpu;
		uint64_t kernel, dispatch, python;
		bool found;
	} cases[] = {
		{ false, 5, 5, 90, true },   { true, 5, 5, 90, true },
		{ false, 60, 5, 35, false }, { true, 10, 50, 40, false },
		{ false, 0, 1, 18, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct made *m = make(cases[i].gpu);
		const struct analysis_finding *f;

		take(m, cases[i].gpu ? TIME_FRAMEWORK : TIME_CPU_COMPUTE, 40);
		sample(m, &user, cases[i].kernel, cases[i].dispatch, cases[i].python);
		judge_it(m);
		f = found(m, "cpu-preprocessing");
		if ((f != NULL) != cases[i].found)
			fail_msg("case %zu: %s", i, f ? "found" : "not found");
		if (f) {
			assert_int_equal(f->where.line, 41);
			assert_true(f->confidence >= FINDING_SURE || !cases[i].gpu);
			assert_null(found(m, "framework-overhead"));
		}
		forget(m);
	}
}

/* numpy's there is numpy's; the framework's own functions are never the user's code. */
static void whose_code_it_is_inside_of_a_model(void **state)
{
	struct made *m = make(false);

	(void)state;
	take(m, TIME_CPU_COMPUTE, 40);
	sample(m, &user, 5, 5, 10);
	m->native[0].library = "/venv/numpy/_core/_multiarray_umath.so";
	m->native[0].in_steps = 80;
	judge_it(m);
	assert_non_null(found(m, "host-numpy"));
	assert_int_equal(found(m, "host-numpy")->where.line, 41);
	forget(m);
	m = make(false);
	take(m, TIME_CPU_COMPUTE, 40);
	cause(m)->inner = linear;
	sample(m, &linear, 5, 5, 90);
	judge_it(m);
	assert_null(found(m, "cpu-preprocessing"));
	forget(m);
}

/* The model is called so many times in each step, all of which is in it. */
static struct made *calls_of_a_model(unsigned calls, uint64_t kernel, uint64_t dispatch)
{
	struct made *m = make(false);

	take(m, TIME_CPU_COMPUTE, 100);
	cause(m)->inner = linear;
	sample(m, &linear, kernel, dispatch, 0);
	m->layers[0] = (struct analysis_layer){ .name = "Net",
						.class_name = "Net",
						.root = "Net",
						.pid = 7,
						.parent = LAYER_NONE,
						.sum = { .calls = calls * (uint64_t)STEPS } };
	m->a->layers.items = m->layers;
	m->a->layers.count = 1;
	m->a->use.model_top = (struct gpu_top_line){ .where = launch, .sum = { 1, 0, 1 } };
	return m;
}

static void several_small_calls_of_a_model_may_be_one(void **state)
{
	static const struct {
		unsigned calls;
		uint64_t kernel, dispatch;
		bool called_by_user, found;
	} cases[] = {
		{ 20, 60, 40, true, true },   { 20, 88, 12, true, true },
		{ 20, 92, 8, true, false },   /* the calls cost little */
		{ 1, 60, 40, true, false },   /* there is one */
		{ 20, 60, 40, false, false }, /* a generate() */
		{ 20, 11, 8, true, false },   /* few samples */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct made *m =
			calls_of_a_model(cases[i].calls, cases[i].kernel, cases[i].dispatch);
		const struct analysis_finding *f;

		if (!cases[i].called_by_user)
			m->a->use.model_top.where.name = NULL;
		judge_it(m);
		f = found(m, "small-batch");
		if ((f != NULL) != cases[i].found)
			fail_msg("case %zu: %s", i, f ? "found" : "not found");
		if (f) {
			/* One call may need what another returned. */
			assert_true(f->confidence < FINDING_SURE);
			assert_string_equal(f->where.name, "infer");
			assert_null(strstr(f->suggestions[0], "GPU"));
		}
		forget(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_operators_are_told_from_large_ones),
		cmocka_unit_test(small_operators_are_sure_and_have_a_line),
		cmocka_unit_test(small_layers_are_small_operators),
		cmocka_unit_test(neither_of_a_gpu_nor_of_a_compiler),
		cmocka_unit_test(python_inside_of_a_model_is_told_with_its_line),
		cmocka_unit_test(whose_code_it_is_inside_of_a_model),
		cmocka_unit_test(several_small_calls_of_a_model_may_be_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
