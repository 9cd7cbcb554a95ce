/* links: is_rules */
/*
 * Every rule against figures whose truth is plain: it fires above its bound, not below,
 * with a place, evidence of two kinds and three suggestions.  Steps last 100 ms, and
 * there are 100 of them, so that shares are milliseconds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rules/draft.h"
#include "rules/judge.h"

#define STEPS 100LL
#define STEP_MS 100LL
#define MS (1000000 * STEPS) /* a millisecond of each step, in ns of all of them */

struct made {
	struct analysis *a;
	struct time_cause causes[8];
	struct gpu_section section;
	struct analysis_native_row native[4];
	struct analysis_wait waits[2];
	struct analysis_layer layers[1];
	struct slow_cause slow[1];
	struct analysis_thread thread;
};

static const struct analysis_place user = { "prepare", "/srv/app/serve.py", 41 };
static const struct analysis_place other = { "count", "/srv/app/stats.py", 33 };
static const struct analysis_place launch = { "infer", "/srv/app/serve.py", 60 };

/* A step of 100 ms in which the GPU computes as long as nothing else takes the time. */
static struct made *make(bool gpu)
{
	struct made *m = calloc(1, sizeof(*m));
	struct analysis *a = m->a = calloc(1, sizeof(*m->a));
	struct analysis_step *s = a->steps = calloc(1, sizeof(*a->steps));

	a->step_count = 1;
	*s = (struct analysis_step){ .name = "request",
				     .source = STEP_SCOPE,
				     .pid = 7,
				     .count = STEPS,
				     .mean_ns = STEP_MS * 1e6,
				     .p50_ns = STEP_MS * 1000000,
				     .p95_ns = STEP_MS * 1000000,
				     .p99_ns = STEP_MS * 1000000 };
	s->breakdown.steps = STEPS;
	s->breakdown.total_ns = STEP_MS * MS;
	s->breakdown.parts[gpu ? TIME_GPU_COMPUTE : TIME_CPU_COMPUTE].ns = STEP_MS * MS;
	s->breakdown.causes = m->causes;
	a->run.wall_ns = 2 * STEP_MS * MS;
	a->run.gpu_recorded = true;
	a->trust.events = 1000000;
	a->use.steps = STEPS;
	a->use.covered_ns = STEP_MS * MS;
	a->use.gpu = gpu;
	if (gpu) {
		a->use.busy_ns = STEP_MS * MS;
		a->use.kernels = (struct use_sum){ 100 * STEPS, 0, STEP_MS * MS };
		a->use.launch_top = (struct use_top){ launch, { 1, 0, 1 } };
		a->use.model_top = a->use.launch_top;
		a->use.multiprocessors = 132;
		a->use.capability = 90;
		a->gpu.sections = &m->section;
		a->gpu.section_count = 1;
		m->section.pid = 7;
	}
	return m;
}

/* So many ms of a step belong to a class, and the GPU, or the CPU, has them no more. */
static void take(struct made *m, enum time_class what, double ms)
{
	struct step_breakdown *b = &m->a->steps[0].breakdown;
	int64_t ns = (int64_t)(ms * MS);

	b->parts[what].ns += ns;
	b->parts[m->a->use.gpu ? TIME_GPU_COMPUTE : TIME_CPU_COMPUTE].ns -= ns;
	if (m->a->use.gpu && what != TIME_H2D && what != TIME_D2H)
		m->a->use.busy_ns -= ns;
	b->causes[b->cause_count++] = (struct time_cause){ .what = what, .where = user, .ns = ns };
}

static struct time_cause *cause(struct made *m)
{
	struct step_breakdown *b = &m->a->steps[0].breakdown;

	return &b->causes[b->cause_count - 1];
}

static const struct analysis_finding *found(const struct made *m, const char *id)
{
	for (size_t i = 0; i < m->a->findings.count; i++)
		if (!strcmp(m->a->findings.items[i].id, id))
			return &m->a->findings.items[i];
	return NULL;
}

static void judge_it(struct made *m)
{
	struct err err;

	if (judge(m->a, NULL, &err))
		fail_msg("%s", err.text);
	for (size_t i = 0; i < m->a->findings.count; i++) {
		const struct analysis_finding *f = &m->a->findings.items[i];

		assert_true(f->evidence_count >= 1);
		assert_true(f->suggestion_count >= 3);
		assert_true(f->confidence > 0 && f->confidence < 1);
		assert_true(f->saving_low_ns <= f->saving_ns && f->saving_ns <= f->saving_high_ns);
		assert_true(f->saving_high_ns <= STEP_MS * 1e6 + 1);
		assert_true(i == 0 || f[-1].confidence >= FINDING_SURE ||
			    f->confidence < FINDING_SURE);
		assert_string_equal(f->step, "request");
	}
}

static void forget(struct made *m)
{
	analysis_findings_release(&m->a->findings);
	free(m->a->steps);
	free(m->a);
	free(m);
}

static void wait_for(struct made *m, enum time_class what, double ms, const char *function,
		     const char *file)
{
	take(m, what, ms);
	cause(m)->inner = (struct analysis_place){ function, file, 1 };
	cause(m)->waited_for = other;
}

static void tell_preprocessing(struct made *m, double ms)
{
	take(m, TIME_CPU_PREPROCESSING, ms);
}

static void tell_numpy(struct made *m, double ms)
{
	take(m, TIME_CPU_PREPROCESSING, ms);
	m->native[0] =
		(struct analysis_native_row){ "FLOAT_divide",
					      "/venv/numpy/core/_multiarray_umath.so", user, 90 };
	m->native[1] = (struct analysis_native_row){ "_PyEval_EvalFrameDefault", "/usr/bin/python3",
						     user, 10 };
	m->a->native.rows = m->native;
	m->a->native.count = 2;
	m->a->native.samples = 100;
}

static void tell_upload(struct made *m, double ms, bool pageable)
{
	struct use_copies *up = &m->a->use.h2d;

	take(m, TIME_H2D, ms);
	up->all = up->large = (struct use_sum){ STEPS, 10000000ull * STEPS, (int64_t)(ms * MS) };
	if (pageable)
		up->pageable = up->all;
	else
		up->large_pinned = up->all;
	up->call_ns = pageable ? up->all.ns : up->all.ns / 1000;
	up->top = (struct use_top){ user, up->all };
	m->a->use.copy_alone_ns = up->all.ns;
}

static void tell_pageable(struct made *m, double ms)
{
	tell_upload(m, ms, true);
}

static void tell_pinned(struct made *m, double ms)
{
	tell_upload(m, ms, false);
}

static void tell_readback(struct made *m, double ms)
{
	struct use_copies *down = &m->a->use.d2h;

	take(m, TIME_D2H, ms);
	down->all = down->pageable =
		(struct use_sum){ STEPS, 50000000ull * STEPS, (int64_t)(ms * MS) };
	down->call_ns = down->all.ns;
	down->top = (struct use_top){ user, down->all };
}

static void tell_sync(struct made *m, double ms)
{
	struct step_use *u = &m->a->use;

	take(m, TIME_LAUNCH, ms);
	u->waits = (struct use_sum){ 20 * STEPS, 0, (int64_t)(ms * MS) };
	u->after_wait = (struct use_gaps){ 20 * STEPS,
					   (int64_t)(ms * MS),
					   { user, { 20 * STEPS, 0, (int64_t)(ms * MS) } } };
}

static void tell_launches(struct made *m, double ms)
{
	struct step_use *u = &m->a->use;

	take(m, TIME_LAUNCH, ms);
	u->calls[CUDA_CALL_LAUNCH] = (struct use_sum){ 1000 * STEPS, 0, 10 * MS };
	u->short_late = (struct use_gaps){ 900 * STEPS,
					   (int64_t)(ms * MS),
					   { launch, { 900 * STEPS, 0, (int64_t)(ms * MS) } } };
}

static void tell_framework(struct made *m, double ms)
{
	take(m, TIME_FRAMEWORK, ms);
	cause(m)->inner =
		(struct analysis_place){ "generate", "/site-packages/t/generation.py", 9 };
}

static void tell_gpu_time(struct made *m, double ms)
{
	take(m, TIME_UNATTRIBUTED, STEP_MS - ms);
}

static void tell_gil(struct made *m, double ms)
{
	take(m, TIME_GIL_WAIT, ms);
	cause(m)->waited_for = other;
}

static void tell_lock(struct made *m, double ms)
{
	take(m, TIME_LOCK_WAIT, ms);
	cause(m)->waited_for = other;
}

static void tell_queue(struct made *m, double ms)
{
	wait_for(m, TIME_LOCK_WAIT, ms, "Queue.get", "/usr/lib/python3.12/queue.py");
}

static void tell_loader(struct made *m, double ms)
{
	wait_for(m, TIME_IO_WAIT, ms, "_BaseDataLoaderIter.__next__",
		 "/site-packages/torch/utils/data/dataloader.py");
}

static void tell_io(struct made *m, double ms)
{
	take(m, TIME_IO_WAIT, ms);
}

static void tell_gc(struct made *m, double ms)
{
	take(m, TIME_GC, ms);
	m->a->gc = (struct analysis_gc){ 300, { 250, 40, 10 }, 5, (int64_t)(ms * MS), 50000000 };
}

/* Rare ones: 0.5 % of the mean, a multiple of that in the steps that they hit. */
static void tell_rare_gc(struct made *m, double ms)
{
	tell_gc(m, 0.5);
	m->slow[0] = (struct slow_cause){ .cause = { .what = TIME_GC, .where = user },
					  .more_ns = ms * 1e6 };
	m->a->steps[0].breakdown.slow = (struct slow_steps){ .steps = 5,
							     .typical_steps = 20,
							     .mean_ns = (STEP_MS + ms) * 1e6,
							     .typical_mean_ns = STEP_MS * 1e6,
							     .cause_count = 1,
							     .causes = m->slow };
}

static void tell_allocation(struct made *m, double ms)
{
	struct use_sum calls = { 3 * STEPS, 0, (int64_t)(ms * MS) };

	take(m, TIME_ALLOCATION, ms);
	m->a->use.calls[CUDA_CALL_FREE] = calls;
	m->a->use.free_top = (struct use_top){ user, calls };
	m->a->use.alloc_top = (struct use_top){ launch, calls };
}

static void tell_compilation(struct made *m, double ms)
{
	take(m, TIME_COMPILE, ms);
	m->a->use.calls[CUDA_CALL_MODULE_LOAD] = (struct use_sum){ STEPS, 0, MS };
}

static void tell_plain_math(struct made *m, double ms)
{
	m->a->use.matrix_plain_ns = (int64_t)(ms * MS);
	m->a->use.plain_top = (struct use_top){ user, { 1, 0, (int64_t)(ms * MS) } };
}

static void tell_few_blocks(struct made *m, double ms)
{
	m->a->use.few_blocks = (struct use_sum){ 50 * STEPS, 0, (int64_t)(ms * MS) };
	m->a->use.few_blocks_idle_ns = ms * 0.8 * MS;
	m->layers[0] = (struct analysis_layer){ .name = "Net",
						.class_name = "Net",
						.root = "Net",
						.pid = 7,
						.parent = LAYER_NONE,
						.sum = { .calls = 16 * STEPS } };
	m->a->layers.items = m->layers;
	m->a->layers.count = 1;
}

/* Without a word from anybody about why. */
static void tell_idle(struct made *m, double ms)
{
	take(m, TIME_UNATTRIBUTED, ms);
	m->a->use.long_late = (struct use_gaps){ STEPS,
						 (int64_t)(ms * MS),
						 { launch, { STEPS, 0, (int64_t)(ms * MS) } } };
}

/* Copies of a memory that nobody knows, in both directions, too little each way to say more. */
static void tell_transfers(struct made *m, double ms)
{
	struct step_use *u = &m->a->use;

	take(m, TIME_UNATTRIBUTED, STEP_MS - ms);
	take(m, TIME_H2D, ms);
	u->h2d.all = (struct use_sum){ 500 * STEPS, 1000ull * STEPS, (int64_t)(ms * MS) };
	u->h2d.call_ns = u->h2d.all.ns;
	u->h2d.top = (struct use_top){ user, u->h2d.all };
}

static const struct truth {
	const char *id;
	void (*tell)(struct made *m, double ms);
	double below_ms, above_ms, far_ms; /* around the bound; where it is clear */
	const struct analysis_place *where;
	bool without_gpu; /* is it found as well where there is none? */
} truths[] = {
	{ "cpu-preprocessing", tell_preprocessing, 9.9, 10.1, 40, &user, true },
	{ "host-numpy", tell_numpy, 9.9, 10.1, 40, &user, true },
	{ "pageable-copy", tell_pageable, 4.9, 5.1, 30, &user, false },
	{ "no-overlap", tell_pinned, 4.9, 5.1, 30, &user, false },
	{ "readback", tell_readback, 4.9, 5.1, 30, &user, false },
	{ "sync-per-step", tell_sync, 5.2, 5.3, 30, &user, false } /* one of 20 is needed */,
	{ "launch-bound", tell_launches, 9.9, 10.1, 40, &launch, false },
	{ "framework-overhead", tell_framework, 9.9, 10.1, 40, &user, true },
	{ "gpu-bound", tell_gpu_time, 79.9, 80.1, 99, &launch, false },
	{ "gil-contention", tell_gil, 4.9, 5.1, 30, &other, true },
	{ "lock-contention", tell_lock, 4.9, 5.1, 30, &other, true },
	{ "input-starvation", tell_queue, 9.9, 10.1, 40, &user, true },
	{ "input-starvation", tell_loader, 9.9, 10.1, 40, &user, true },
	{ "io-wait", tell_io, 4.9, 5.1, 30, &user, false },
	{ "gc-pause", tell_gc, 4.9, 5.1, 30, &user, true },
	{ "gc-pause", tell_rare_gc, 19.9, 20.1, 80, &user, true },
	{ "alloc-churn", tell_allocation, 4.9, 5.1, 30, &user, false },
	{ "jit-compile", tell_compilation, 4.9, 5.1, 30, &user, false },
	{ "no-tensor-cores", tell_plain_math, 29.9, 30.1, 80, &user, false },
	{ "small-batch", tell_few_blocks, 49.9, 50.1, 90, &launch, false },
	{ "gpu-idle", tell_idle, 9.9, 10.1, 40, &launch, false },
	{ "transfer-overhead", tell_transfers, 19.9, 20.1, 50, &user, false },
};

#define TRUTHS (sizeof(truths) / sizeof(*truths))

static void rules_fire_above_their_bound_and_not_below(void **state)
{
	(void)state;
	for (size_t i = 0; i < TRUTHS; i++) {
		for (int above = 0; above < 2; above++) {
			struct made *m = make(true);

			truths[i].tell(m, above ? truths[i].above_ms : truths[i].below_ms);
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

		truths[i].tell(m, truths[i].far_ms);
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

static void some_need_no_gpu(void **state)
{
	(void)state;
	for (size_t i = 0; i < TRUTHS; i++) {
		struct made *m;

		if (!truths[i].without_gpu)
			continue;
		m = make(false);
		truths[i].tell(m, truths[i].far_ms);
		judge_it(m);
		if (!found(m, truths[i].id))
			fail_msg("%s without a GPU", truths[i].id);
		forget(m);
	}
}

/* One wait in a step is for its result; in a loop inside a step none is needed but the last. */
static void one_wait_in_a_step_is_needed(void **state)
{
	(void)state;
	for (int outer = 0; outer < 2; outer++) {
		struct made *m = make(true);
		struct analysis_step steps[2] = { 0 };

		tell_sync(m, 30);
		m->a->use.waits.count = STEPS;
		if (outer) {
			steps[0] = m->a->steps[0];
			steps[1] = (struct analysis_step){
				.name = "request", .count = 10, .pid = 7, .has_steps = true
			};
			free(m->a->steps);
			m->a->steps = malloc(sizeof(steps));
			memcpy(m->a->steps, steps, sizeof(steps));
			m->a->step_count = 2;
		}
		judge_it(m);
		assert_int_equal(found(m, "sync-per-step") != NULL, outer);
		forget(m);
	}
}

/* What runs in a call that also waits for data reads them. */
static void reading_is_no_preprocessing(void **state)
{
	struct made *m = make(true);

	(void)state;
	take(m, TIME_CPU_PREPROCESSING, 30);
	take(m, TIME_IO_WAIT, 20);
	judge_it(m);
	assert_null(found(m, "cpu-preprocessing"));
	assert_true(found(m, "io-wait")->saving_high_ns > 45e6);
	forget(m);
	m = make(true);
	take(m, TIME_CPU_PREPROCESSING, 30);
	take(m, TIME_IO_WAIT, 20);
	cause(m)->where = other;
	judge_it(m);
	assert_non_null(found(m, "cpu-preprocessing"));
	assert_true(found(m, "io-wait")->saving_high_ns < 25e6);
	forget(m);
}

/* The function with most time in all, and in it the heaviest line that is known. */
static void the_place_is_a_line_of_the_heaviest_function(void **state)
{
	struct analysis_function function = { .name = "prepare",
					      .file = "/srv/app/serve.py",
					      .line = 40 };
	struct made *m = make(true);
	const struct analysis_finding *f;

	(void)state;
	take(m, TIME_CPU_PREPROCESSING, 20);
	cause(m)->where = other;
	take(m, TIME_CPU_PREPROCESSING, 12);
	cause(m)->where.line = 40; /* the line is not known: the function's first */
	take(m, TIME_CPU_PREPROCESSING, 10);
	take(m, TIME_CPU_PREPROCESSING, 5);
	cause(m)->where.line = 43;
	m->a->functions = &function;
	m->a->function_count = 1;
	judge_it(m);
	f = found(m, "cpu-preprocessing");
	assert_non_null(f);
	assert_string_equal(f->where.name, "prepare");
	assert_int_equal(f->where.line, 41);
	forget(m);
}

static void page_faults_are_taken_from_the_code_they_are_in(void **state)
{
	struct made *m = make(true);

	(void)state;
	take(m, TIME_CPU_PREPROCESSING, 40);
	m->a->steps[0].memory.steps = STEPS;
	m->a->steps[0].memory.minor_faults =
		(struct memory_per_step){ .known = true, .mean = 140000 };
	judge_it(m);
	assert_string_equal(m->a->findings.items[0].id, "page-faults");
	assert_null(found(m, "cpu-preprocessing"));
	forget(m);
}

static void page_faults_that_were_seen_have_their_line(void **state)
{
	struct memory_line lines[] = { { .minor = 50 },
				       { .place = { "grow", "serve.py", 77 }, .minor = 40 } };
	struct made *m = make(true);

	(void)state;
	take(m, TIME_CPU_PREPROCESSING, 40);
	m->a->steps[0].memory.steps = STEPS;
	m->a->steps[0].memory.minor_faults =
		(struct memory_per_step){ .known = true, .mean = 140000 };
	m->a->memory.lines = lines;
	m->a->memory.line_count = 2;
	m->a->memory.seen_minor = 90;
	judge_it(m);
	assert_string_equal(m->a->findings.items[0].id, "page-faults");
	assert_string_equal(m->a->findings.items[0].where.name, "grow");
	assert_int_equal(m->a->findings.items[0].where.line, 77);
	m->a->memory.lines = NULL; /* not the analysis' own */
	forget(m);
}

static void memory_has_findings_without_a_place(void **state)
{
	struct made *m = make(true);

	(void)state;
	m->a->memory.machine.memory = (struct memory_pressure){ .known = true, .some_share = 0.3 };
	m->a->steps[0].memory.steps = STEPS;
	m->a->steps[0].memory.major_faults = (struct memory_per_step){ .known = true, .mean = 50 };
	judge_it(m);
	assert_non_null(found(m, "memory-pressure"));
	assert_null(found(m, "memory-pressure")->where.name);
	assert_true(found(m, "memory-pressure")->confidence > FINDING_SURE);
	forget(m);
}

static void a_bus_at_its_limit_is_known_by_its_link(void **state)
{
	(void)state;
	for (int width = 8; width <= 16; width += 8) {
		struct made *m = make(true);
		struct memory_gpu gpu = {
			.pcie_generation = { .known = true, .peak = 4 },
			.pcie_width = { .known = true, .peak = width },
		};

		tell_pinned(m, 30);
		m->a->use.h2d.large.bytes = 14ull * (uint64_t)m->a->use.h2d.large.ns; /* GB/s */
		m->a->memory.gpus = &gpu;
		m->a->memory.gpu_count = 1;
		judge_it(m);
		assert_int_equal(found(m, "pcie-saturated") != NULL, width == 8);
		forget(m);
	}
}

static void a_healthy_run_has_nothing_to_fix(void **state)
{
	struct made *m = make(true);

	(void)state;
	take(m, TIME_CPU_PREPROCESSING, 4);
	take(m, TIME_LAUNCH, 2);
	take(m, TIME_H2D, 2);
	judge_it(m);
	assert_int_equal(m->a->findings.count, 1);
	assert_string_equal(m->a->findings.items[0].id, "gpu-bound");
	assert_true(m->a->findings.items[0].saving_ns == 0);
	assert_string_equal(m->a->verdict.bound, "gpu");
	assert_true(m->a->verdict.confidence > 0.9);
	forget(m);
}

static void no_load_is_no_fault(void **state)
{
	struct made *m = make(true);

	(void)state;
	take(m, TIME_IDLE, 95);
	m->a->use.busy_ns = 3 * MS;
	judge_it(m);
	assert_int_equal(m->a->findings.count, 0);
	assert_string_equal(m->a->verdict.bound, "unknown");
	forget(m);
}

static void verdicts_follow_the_largest_side(void **state)
{
	static const struct {
		enum time_class what;
		double ms;
		const char *bound;
	} cases[] = {
		{ TIME_CPU_PREPROCESSING, 80, "cpu" },
		{ TIME_FRAMEWORK, 58, "cpu" },
		{ TIME_FRAMEWORK, 56, "balanced" },
		{ TIME_LAUNCH, 44, "balanced" },
		{ TIME_LAUNCH, 42, "gpu" },
		{ TIME_H2D, 58, "memory" },
		{ TIME_D2H, 56, "balanced" },
		{ TIME_UNATTRIBUTED, 90, "unknown" },
		{ TIME_IO_WAIT, 90, "cpu" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct made *m = make(true);

		take(m, cases[i].what, cases[i].ms);
		judge_it(m);
		assert_string_equal(m->a->verdict.bound, cases[i].bound);
		assert_true(*m->a->verdict.because);
		forget(m);
	}
}

static double confidence_of(struct made *m)
{
	double confidence;

	judge_it(m);
	confidence = found(m, "cpu-preprocessing") ? found(m, "cpu-preprocessing")->confidence : 0;
	forget(m);
	return confidence;
}

static void confidence_falls_with_the_quality_of_the_data(void **state)
{
	struct made *m = make(true);
	double good;

	(void)state;
	tell_preprocessing(m, 40);
	good = confidence_of(m);
	m = make(true);
	tell_preprocessing(m, 40);
	m->a->trust.dropped = 250000;
	assert_true(confidence_of(m) < 0.85 * good);
	m = make(true);
	tell_preprocessing(m, 40);
	m->a->trust.clock_error_ns = 20000000;
	assert_true(confidence_of(m) < 0.95 * good);
	m = make(true);
	tell_preprocessing(m, 40);
	m->a->trust.clock_error_ns = 20000000;
	m->a->trust.causality_violations = 1;
	assert_true(confidence_of(m) < 0.85 * good);
	m = make(true);
	tell_preprocessing(m, 40);
	take(m, TIME_UNATTRIBUTED, 20);
	assert_true(confidence_of(m) < 0.9 * good);
	m = make(true);
	tell_preprocessing(m, 40);
	m->a->steps[0].max_ns = 8 * STEP_MS * MS / 10; /* one of them is most of it */
	assert_true(confidence_of(m) < 0.5 * good);
}

static void evidence_of_one_kind_is_never_sure(void **state)
{
	struct made *m = make(false);

	(void)state;
	tell_preprocessing(m, 90);
	assert_true(confidence_of(m) < FINDING_SURE);
}

static void without_steps_nothing_is_said(void **state)
{
	struct made *m = make(true);

	(void)state;
	memset(&m->a->steps[0].breakdown, 0, sizeof(m->a->steps[0].breakdown));
	m->a->use.steps = 0;
	judge_it(m);
	assert_int_equal(m->a->findings.count, 0);
	assert_string_equal(m->a->verdict.bound, "unknown");
	m->a->step_count = 0;
	judge_it(m);
	forget(m);
}

static void the_heavier_saving_comes_first(void **state)
{
	struct made *m = make(true);

	(void)state;
	tell_gc(m, 12);
	tell_preprocessing(m, 30);
	tell_gil(m, 20);
	judge_it(m);
	assert_int_equal(m->a->findings.count, 3);
	assert_string_equal(m->a->findings.items[0].id, "cpu-preprocessing");
	assert_string_equal(m->a->findings.items[1].id, "gil-contention");
	assert_string_equal(m->a->findings.items[2].id, "gc-pause");
	assert_int_equal(m->a->findings.items[0].severity, SEVERITY_HIGH);
	forget(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_fire_above_their_bound_and_not_below),
		cmocka_unit_test(what_is_clear_is_sure_and_has_its_place),
		cmocka_unit_test(some_need_no_gpu),
		cmocka_unit_test(one_wait_in_a_step_is_needed),
		cmocka_unit_test(reading_is_no_preprocessing),
		cmocka_unit_test(the_place_is_a_line_of_the_heaviest_function),
		cmocka_unit_test(page_faults_are_taken_from_the_code_they_are_in),
		cmocka_unit_test(page_faults_that_were_seen_have_their_line),
		cmocka_unit_test(memory_has_findings_without_a_place),
		cmocka_unit_test(a_bus_at_its_limit_is_known_by_its_link),
		cmocka_unit_test(a_healthy_run_has_nothing_to_fix),
		cmocka_unit_test(no_load_is_no_fault),
		cmocka_unit_test(verdicts_follow_the_largest_side),
		cmocka_unit_test(confidence_falls_with_the_quality_of_the_data),
		cmocka_unit_test(evidence_of_one_kind_is_never_sure),
		cmocka_unit_test(without_steps_nothing_is_said),
		cmocka_unit_test(the_heavier_saving_comes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
