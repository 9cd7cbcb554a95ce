/*
 * Figures whose truth is plain, for the rules.  Steps last 100 ms, and there are 100 of them,
 * so that shares are milliseconds.
 */
#ifndef TESTS_FINDINGS_KIT_H
#define TESTS_FINDINGS_KIT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rules/finding_builder.h"
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

static const struct place user = { "prepare", "/srv/app/serve.py", 41 };
static const struct place other = { "count", "/srv/app/stats.py", 33 };
static const struct place launch = { "infer", "/srv/app/serve.py", 60 };

/* A step of 100 ms in which the GPU computes as long as nothing else takes the time. */
static inline struct made *make(bool gpu)
{
	struct made *m = calloc(1, sizeof(*m));
	struct analysis *a = m->a = calloc(1, sizeof(*m->a));
	struct analysis_step *s = a->steps = calloc(1, sizeof(*a->steps));

	a->step_count = 1;
	a->verdict = (struct analysis_verdict){ .bound = "unknown", .because = "not judged" };
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
		a->use.kernels = (struct gpu_usage_sum){ 100 * STEPS, 0, STEP_MS * MS };
		a->use.launch_top = (struct gpu_top_line){ .where = launch, .sum = { 1, 0, 1 } };
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
static inline void take(struct made *m, enum time_class what, double ms)
{
	struct step_breakdown *b = &m->a->steps[0].breakdown;
	int64_t ns = (int64_t)(ms * MS);

	b->parts[what].ns += ns;
	b->parts[m->a->use.gpu ? TIME_GPU_COMPUTE : TIME_CPU_COMPUTE].ns -= ns;
	if (m->a->use.gpu && what != TIME_H2D && what != TIME_D2H)
		m->a->use.busy_ns -= ns;
	b->causes[b->cause_count++] =
		(struct time_cause){ .what = what, .where = user, .ns = ns, .inner_ns = ns };
}

static inline struct time_cause *cause(struct made *m)
{
	struct step_breakdown *b = &m->a->steps[0].breakdown;

	return &b->causes[b->cause_count - 1];
}

static inline const struct analysis_finding *found(const struct made *m, const char *id)
{
	for (size_t i = 0; i < m->a->findings.count; i++)
		if (!strcmp(m->a->findings.items[i].id, id))
			return &m->a->findings.items[i];
	return NULL;
}

static inline void judge_it(struct made *m)
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

static inline void forget(struct made *m)
{
	analysis_findings_release(&m->a->findings);
	critical_path_release(&m->a->critical_path);
	free(m->a->steps);
	free(m->a);
	free(m);
}

static inline void wait_for(struct made *m, enum time_class what, double ms, const char *function,
			    const char *file)
{
	take(m, what, ms);
	cause(m)->inner = (struct place){ function, file, 1 };
	cause(m)->waited_for = other;
}

static inline void story_of_preprocessing(struct made *m, double ms)
{
	take(m, TIME_CPU_PREPROCESSING, ms);
}

static inline void story_of_numpy(struct made *m, double ms)
{
	take(m, TIME_CPU_PREPROCESSING, ms);
	m->native[0] = (struct analysis_native_row){ "FLOAT_divide",
						     "/venv/numpy/core/_multiarray_umath.so", user,
						     90, 90 };
	m->native[1] = (struct analysis_native_row){ "_PyEval_EvalFrameDefault", "/usr/bin/python3",
						     user, 10, 10 };
	m->a->native.rows = m->native;
	m->a->native.count = 2;
	m->a->native.samples = 100;
}

static inline void story_of_upload(struct made *m, double ms, bool pageable)
{
	struct gpu_usage_copies *up = &m->a->use.h2d;

	take(m, TIME_H2D, ms);
	up->all = up->large =
		(struct gpu_usage_sum){ STEPS, 10000000ull * STEPS, (int64_t)(ms * MS) };
	if (pageable)
		up->pageable = up->all;
	else
		up->large_pinned = up->all;
	up->call_ns = pageable ? up->all.ns : up->all.ns / 1000;
	up->top = (struct gpu_top_line){ .where = user, .sum = up->all };
	m->a->use.copy_alone_ns = up->all.ns;
}

static inline void story_of_pageable(struct made *m, double ms)
{
	story_of_upload(m, ms, true);
}

static inline void story_of_pinned(struct made *m, double ms)
{
	story_of_upload(m, ms, false);
}

static inline void story_of_readback(struct made *m, double ms)
{
	struct gpu_usage_copies *down = &m->a->use.d2h;

	take(m, TIME_D2H, ms);
	down->all = down->pageable =
		(struct gpu_usage_sum){ STEPS, 50000000ull * STEPS, (int64_t)(ms * MS) };
	down->call_ns = down->all.ns;
	down->top = (struct gpu_top_line){ .where = user, .sum = down->all };
}

static inline void story_of_sync(struct made *m, double ms)
{
	struct step_gpu_usage *u = &m->a->use;

	take(m, TIME_LAUNCH, ms);
	u->waits = (struct gpu_usage_sum){ 20 * STEPS, 0, (int64_t)(ms * MS) };
	for (size_t i = 0; i < u->waits.count; i++)
		wait_lengths_add(&u->wait_lengths, u->waits.ns / (int64_t)u->waits.count);
	u->after_wait = (struct gpu_usage_gaps){ 20 * STEPS,
						 (int64_t)(ms * MS),
						 { .where = user,
						   .sum = { 20 * STEPS, 0, (int64_t)(ms * MS) } } };
}

static inline void story_of_launches(struct made *m, double ms)
{
	struct step_gpu_usage *u = &m->a->use;

	take(m, TIME_LAUNCH, ms);
	u->calls[CUDA_CALL_LAUNCH] = (struct gpu_usage_sum){ 1000 * STEPS, 0, 10 * MS };
	u->short_late =
		(struct gpu_usage_gaps){ 900 * STEPS,
					 (int64_t)(ms * MS),
					 { .where = launch,
					   .sum = { 900 * STEPS, 0, (int64_t)(ms * MS) } } };
}

static inline void story_of_framework(struct made *m, double ms)
{
	take(m, TIME_FRAMEWORK, ms);
	cause(m)->inner = (struct place){ "generate", "/site-packages/t/generation.py", 9 };
}

static inline void story_of_gpu_time(struct made *m, double ms)
{
	take(m, TIME_UNATTRIBUTED, STEP_MS - ms);
}

static inline void story_of_gil(struct made *m, double ms)
{
	take(m, TIME_GIL_WAIT, ms);
	cause(m)->waited_for = other;
}

/* The class is there only if the program's own threads crowd the CPUs. */
static inline void story_of_crowd(struct made *m, double ms)
{
	m->a->crowd = (struct crowd){ 2, 4, true };
	take(m, TIME_CPU_WAIT, ms);
}

static inline void story_of_loading(struct made *m, double ms)
{
	static struct analysis_function loads = { .name = "load",
						  .file = "/site-packages/torch/serialization.py",
						  .calls = STEPS };

	m->a->functions = &loads;
	m->a->function_count = 1;
	take(m, TIME_MODEL_LOAD, ms);
}

static inline void story_of_lock(struct made *m, double ms)
{
	take(m, TIME_LOCK_WAIT, ms);
	cause(m)->waited_for = other;
}

static inline void story_of_queue(struct made *m, double ms)
{
	wait_for(m, TIME_LOCK_WAIT, ms, "Queue.get", "/usr/lib/python3.12/queue.py");
}

/* Its input is there, and it waits until its time is over. */
static inline void story_of_patience(struct made *m, double ms)
{
	wait_for(m, TIME_SLEEP, ms, "Condition.wait", "/usr/lib/python3.12/threading.py");
	cause(m)->waited_for = (struct place){ 0 };
}

static inline void story_of_loader(struct made *m, double ms)
{
	wait_for(m, TIME_IO_WAIT, ms, "_BaseDataLoaderIter.__next__",
		 "/site-packages/torch/utils/data/dataloader.py");
}

static inline void story_of_io(struct made *m, double ms)
{
	take(m, TIME_IO_WAIT, ms);
}

static inline void story_of_sleep(struct made *m, double ms)
{
	take(m, TIME_SLEEP, ms);
}

static inline void story_of_gc(struct made *m, double ms)
{
	take(m, TIME_GC, ms);
	m->a->gc = (struct analysis_gc){ 300, { 250, 40, 10 }, 5, (int64_t)(ms * MS), 50000000 };
}

/* Rare ones: 0.5 % of the mean, a multiple of that in the steps that they hit. */
static inline void story_of_rare_gc(struct made *m, double ms)
{
	story_of_gc(m, 0.5);
	m->slow[0] = (struct slow_cause){ .cause = { .what = TIME_GC, .where = user },
					  .more_ns = ms * 1e6 };
	m->a->steps[0].breakdown.slow = (struct slow_steps){ .steps = 5,
							     .typical_steps = 20,
							     .mean_ns = (STEP_MS + ms) * 1e6,
							     .typical_mean_ns = STEP_MS * 1e6,
							     .cause_count = 1,
							     .causes = m->slow };
}

static inline void story_of_allocation(struct made *m, double ms)
{
	struct gpu_usage_sum calls = { 3 * STEPS, 0, (int64_t)(ms * MS) };

	take(m, TIME_ALLOCATION, ms);
	m->a->use.calls[CUDA_CALL_FREE] = calls;
	m->a->use.free_top = (struct gpu_top_line){ .where = user, .sum = calls };
	m->a->use.alloc_top = (struct gpu_top_line){ .where = launch, .sum = calls };
}

static inline void story_of_compilation(struct made *m, double ms)
{
	take(m, TIME_COMPILE, ms);
	m->a->use.calls[CUDA_CALL_MODULE_LOAD] = (struct gpu_usage_sum){ STEPS, 0, MS };
}

static inline void story_of_plain_math(struct made *m, double ms)
{
	m->a->use.matrix_plain_ns = (int64_t)(ms * MS);
	m->a->use.plain_top =
		(struct gpu_top_line){ .where = user, .sum = { 1, 0, (int64_t)(ms * MS) } };
}

static inline void story_of_few_blocks(struct made *m, double ms)
{
	m->a->use.few_blocks = (struct gpu_usage_sum){ 50 * STEPS, 0, (int64_t)(ms * MS) };
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
static inline void story_of_idle(struct made *m, double ms)
{
	take(m, TIME_UNATTRIBUTED, ms);
	m->a->use.long_late =
		(struct gpu_usage_gaps){ STEPS,
					 (int64_t)(ms * MS),
					 { .where = launch,
					   .sum = { STEPS, 0, (int64_t)(ms * MS) } } };
}

/* Copies of a memory that nobody knows, in both directions, too little each way to say more. */
static inline void story_of_transfers(struct made *m, double ms)
{
	struct step_gpu_usage *u = &m->a->use;

	take(m, TIME_UNATTRIBUTED, STEP_MS - ms);
	take(m, TIME_H2D, ms);
	u->h2d.all = (struct gpu_usage_sum){ 500 * STEPS, 1000ull * STEPS, (int64_t)(ms * MS) };
	u->h2d.call_ns = u->h2d.all.ns;
	u->h2d.top = (struct gpu_top_line){ .where = user, .sum = u->h2d.all };
}

#endif
