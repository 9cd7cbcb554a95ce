/* links: is_rules */
/* What single findings say, what is said of healthy runs, the verdict, and how sure it all is. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "findings_kit.h"

/* One wait in a step is for its result; in a loop inside a step none is needed but the last. */
static void one_wait_in_a_step_is_needed(void **state)
{
	(void)state;
	for (int outer = 0; outer < 2; outer++) {
		struct made *m = make(true);
		struct analysis_step steps[2] = { 0 };

		story_of_sync(m, 30);
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
	assert_true(found(m, "io-wait")->saving_ns < 25e6);
	forget(m);
}

/* Operators that the user's code calls are the work itself where there is no GPU. */
static void operators_without_a_gpu_are_no_preprocessing(void **state)
{
	static const struct {
		bool gpu;
		const char *library;
		bool found;
	} cases[] = {
		{ true, "/venv/torch/lib/libtorch_cpu.so", true },
		{ false, "/venv/torch/lib/libtorch_cpu.so", false },
		{ false, "/usr/bin/python3", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct made *m = make(cases[i].gpu);

		story_of_numpy(m, 40);
		m->native[0].library = cases[i].library;
		judge_it(m);
		assert_int_equal(found(m, "cpu-preprocessing") != NULL, cases[i].found);
		assert_null(found(m, "host-numpy"));
		forget(m);
	}
}

/* NumPy copies by the C library: that it does so is no sign of somebody else. */
static void the_c_library_works_for_who_calls_it(void **state)
{
	struct made *m = make(true);

	(void)state;
	story_of_numpy(m, 40);
	m->native[0].in_steps = 20;
	m->native[1] =
		(struct analysis_native_row){ "memmove", "/usr/lib/libc.so.6", user, 80, 80 };
	judge_it(m);
	assert_non_null(found(m, "host-numpy"));
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
	take(m, TIME_CPU_PREPROCESSING, 5);
	take(m, TIME_PAGE_FAULTS, 35);
	cause(m)->where = other;
	m->a->steps[0].memory.steps = STEPS;
	m->a->steps[0].memory.minor_faults =
		(struct memory_per_step){ .known = true, .mean = 140000 };
	judge_it(m);
	assert_string_equal(m->a->findings.items[0].id, "page-faults");
	assert_string_equal(m->a->findings.items[0].where.name, other.name);
	assert_true(m->a->findings.items[0].confidence >= FINDING_SURE);
	assert_null(found(m, "cpu-preprocessing"));
	forget(m);
}

/* Nobody can hand a convolution the memory of its result: there the allocator has to keep it. */
static void advice_on_page_faults_knows_whose_buffers_they_are(void **state)
{
	static const struct {
		struct place inner;
		const char *first;
	} cases[] = {
		{ { 0 }, "Allocate the large buffers of prepare (serve.py:41) once" },
		{ { "concatenate", "/venv/lib/python3.12/site-packages/numpy/core.py", 9 },
		  "Allocate the large buffers of prepare (serve.py:41) once" },
		{ { "Conv2d._conv_forward",
		    "/venv/lib/python3.12/site-packages/torch/nn/modules/conv.py", 500 },
		  "Let malloc keep the memory that prepare (serve.py:41) frees" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct made *m = make(false);
		const struct analysis_finding *f;

		take(m, TIME_PAGE_FAULTS, 35);
		cause(m)->inner = cases[i].inner;
		m->a->steps[0].memory.steps = STEPS;
		m->a->steps[0].memory.minor_faults =
			(struct memory_per_step){ .known = true, .mean = 5781 };
		judge_it(m);
		f = found(m, "page-faults");
		assert_non_null(f);
		assert_int_equal(strncmp(f->suggestions[0], cases[i].first, strlen(cases[i].first)),
				 0);
		for (size_t k = 0; k < f->suggestion_count; k++)
			if (strstr(f->suggestions[k], "MALLOC_TRIM_THRESHOLD_"))
				assert_non_null(strstr(f->suggestions[k], "5781 faults per step"));
		forget(m);
	}
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

/*
 * Threads on one node, so much of the memory on another, and so many ms of host code in a step: it
 * is said where more than half is apart and there is code to gain by it.
 */
static void memory_on_another_node(void **state)
{
	static const struct {
		double share, host_ms;
		bool gpu, known, decision_count;
	} cases[] = {
		{ 0.9, 30, true, true, true },  { 0.9, 0, false, true, true },
		{ 0.5, 30, true, true, false }, { 0.51, 30, true, true, true },
		{ 0.9, 9, true, true, false },  { 0.9, 30, true, false, false },
		{ 0.2, 90, true, true, false },
	};
	double sure[sizeof(cases) / sizeof(*cases)];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct made *m = make(cases[i].gpu);
		double host_ms = cases[i].gpu ? cases[i].host_ms : STEP_MS;
		struct memory_process processes[] = {
			{ .pid = 6, .recorded = true, .remote_known = true, .remote_share = 1 },
			{ .pid = 7,
			  .recorded = true,
			  .remote_known = cases[i].known,
			  .remote_share = cases[i].share },
		};
		const struct analysis_finding *f;

		m->a->memory.processes =
			processes; /* of another process is not of this one's steps */
		m->a->memory.process_count = 2;
		if (cases[i].host_ms)
			take(m, TIME_CPU_PREPROCESSING, cases[i].host_ms);
		judge_it(m);
		f = found(m, "numa-remote");
		assert_int_equal(f != NULL, cases[i].decision_count);
		if (f) {
			char share[64];

			/* Remote memory is about half as fast, and no program does nothing else. */
			assert_true(f->saving_low_ns < 0.25 * f->saving_ns);
			assert_true(fabs(f->saving_ns - cases[i].share * 0.4 * host_ms * 1e6) < 1);
			assert_null(f->where.name);
			snprintf(share, sizeof(share), "%.0f %%", 100 * cases[i].share);
			assert_non_null(strstr(f->evidence[0], share));
			assert_true(f->confidence < FINDING_SURE);
			sure[i] = f->confidence;
		}
		m->a->memory.process_count = 0; /* not the analysis' own */
		m->a->memory.processes = NULL;
		forget(m);
	}
	assert_true(sure[0] > sure[3]);
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

		/* What kernels can hide is no-overlap's. */
		story_of_pinned(m, 60);
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

/* Of two waits in a step that for its result is needed; the other, at its beginning, is over at
 * once. */
static void a_wait_for_little_holds_up_nobody(void **state)
{
	(void)state;
	for (int brief = 0; brief < 2; brief++) {
		struct made *m = make(true);
		struct step_gpu_usage *u = &m->a->use;

		story_of_sync(m, 30);
		u->waits = (struct gpu_usage_sum){ 0 };
		u->wait_lengths = (struct wait_lengths){ 0 };
		for (int i = 0; i < 2 * STEPS; i++) {
			int64_t ns = 30 * MS / STEPS / (i % 2 && brief ? 200 : 1);

			u->waits.count++;
			u->waits.ns += ns;
			wait_lengths_add(&u->wait_lengths, ns);
		}
		judge_it(m);
		assert_int_equal(found(m, "sync-per-step") == NULL, brief);
		forget(m);
	}
}

static void an_idle_gpu_without_requests_is_no_finding(void **state)
{
	struct made *m = make(true);

	(void)state;
	story_of_idle(m, 40);
	judge_it(m);
	assert_non_null(found(m, "gpu-idle"));
	forget(m);
	m = make(true);
	story_of_idle(m, 40);
	m->a->gpu.sections[0].idle_ns = 100 * MS;
	m->a->gpu.sections[0].blame.no_load_ns = 60 * MS;
	judge_it(m);
	assert_null(found(m, "gpu-idle"));
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
	story_of_preprocessing(m, 40);
	good = confidence_of(m);
	m = make(true);
	story_of_preprocessing(m, 40);
	m->a->trust.dropped = 250000;
	assert_true(confidence_of(m) < 0.85 * good);
	m = make(true);
	story_of_preprocessing(m, 40);
	m->a->trust.clock_error_ns = 20000000;
	assert_true(confidence_of(m) < 0.95 * good);
	m = make(true);
	story_of_preprocessing(m, 40);
	m->a->trust.clock_error_ns = 20000000;
	m->a->trust.causality_violations = 1;
	assert_true(confidence_of(m) < 0.85 * good);
	m = make(true);
	story_of_preprocessing(m, 40);
	take(m, TIME_UNATTRIBUTED, 20);
	assert_true(confidence_of(m) < 0.9 * good);
	m = make(true);
	story_of_preprocessing(m, 40);
	m->a->steps[0].max_ns = 8 * STEP_MS * MS / 10; /* one of them is most of it */
	assert_true(confidence_of(m) < 0.5 * good);
}

static void evidence_of_one_kind_is_never_sure(void **state)
{
	struct made *m = make(false);

	(void)state;
	story_of_preprocessing(m, 90);
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
	story_of_gc(m, 12);
	story_of_preprocessing(m, 30);
	story_of_gil(m, 20);
	judge_it(m);
	assert_int_equal(m->a->findings.count, 3);
	assert_string_equal(m->a->findings.items[0].id, "cpu-preprocessing");
	assert_string_equal(m->a->findings.items[1].id, "gil-contention");
	assert_string_equal(m->a->findings.items[2].id, "gc-pause");
	assert_int_equal(m->a->findings.items[0].severity, SEVERITY_HIGH);
	forget(m);
}

/* A graph cannot be captured of a model that waits: its launches are told where they are made. */
static void launches_of_a_model_that_waits_are_where_they_are_made(void **state)
{
	(void)state;
	for (int waits = 0; waits <= 1; waits++) {
		struct made *m = make(true);
		const struct analysis_finding *f;

		story_of_launches(m, 40);
		m->a->use.late_inside =
			(struct gpu_top_line){ .where = other, .sum = { 500 * STEPS, 0, 20 * MS } };
		m->a->use.model_waits =
			(struct gpu_top_line){ .where = user,
					       .sum = { waits ? STEPS : STEPS - 1, 0, MS } };
		judge_it(m);
		f = found(m, "launch-bound");
		assert_non_null(f);
		assert_string_equal(f->where.name, waits ? other.name : launch.name);
		assert_int_equal(strstr(f->suggestions[0], "CUDA graph") != NULL, !waits);
		forget(m);
	}
}

/* A GPU that moves tensors for most of the time has something to save, and where. */
static void moving_tensors_is_no_computing(void **state)
{
	(void)state;
	for (int much = 0; much <= 1; much++) {
		struct made *m = make(true);
		const struct analysis_finding *f;

		m->a->use.moved_ns = (much ? 31 : 29) * MS;
		m->a->use.moved_top =
			(struct gpu_top_line){ .where = user,
					       .sum = { STEPS, 0, m->a->use.moved_ns } };
		judge_it(m);
		f = found(m, "gpu-bound");
		assert_non_null(f);
		assert_string_equal(f->where.name, much ? user.name : launch.name);
		assert_int_equal(f->saving_ns > 0, much);
		forget(m);
	}
}

/* Nobody is told to do what the program does. */
static void advice_that_is_followed_is_not_given(void **state)
{
	struct analysis_function f = { .name = "inference_mode.__enter__",
				       .file = "/venv/torch/autograd/grad_mode.py" };

	(void)state;
	for (int infers = 0; infers <= 1; infers++) {
		struct made *m = make(true);
		const struct analysis_finding *found_one;

		story_of_framework(m, 40);
		m->a->functions = &f;
		m->a->function_count = (size_t)infers;
		judge_it(m);
		found_one = found(m, "framework-overhead");
		assert_non_null(found_one);
		assert_int_equal(strstr(found_one->suggestions[0], "already") != NULL, infers);
		forget(m);
	}
}

/* Of a line that calls several functions the time is not told as that of one. */
static void a_function_is_named_that_has_most_of_the_time(void **state)
{
	(void)state;
	for (int64_t percent = 40; percent <= 60; percent += 20) {
		struct made *m = make(true);
		const struct analysis_finding *f;

		story_of_framework(m, 40);
		cause(m)->inner_ns = cause(m)->ns / 100 * percent;
		judge_it(m);
		f = found(m, "framework-overhead");
		assert_non_null(f);
		assert_int_equal(strstr(f->evidence[0], ", in generate") != NULL, percent > 50);
		forget(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_wait_in_a_step_is_needed),
		cmocka_unit_test(reading_is_no_preprocessing),
		cmocka_unit_test(operators_without_a_gpu_are_no_preprocessing),
		cmocka_unit_test(the_c_library_works_for_who_calls_it),
		cmocka_unit_test(the_place_is_a_line_of_the_heaviest_function),
		cmocka_unit_test(page_faults_are_taken_from_the_code_they_are_in),
		cmocka_unit_test(advice_on_page_faults_knows_whose_buffers_they_are),
		cmocka_unit_test(memory_has_findings_without_a_place),
		cmocka_unit_test(memory_on_another_node),
		cmocka_unit_test(a_bus_at_its_limit_is_known_by_its_link),
		cmocka_unit_test(a_healthy_run_has_nothing_to_fix),
		cmocka_unit_test(no_load_is_no_fault),
		cmocka_unit_test(a_wait_for_little_holds_up_nobody),
		cmocka_unit_test(an_idle_gpu_without_requests_is_no_finding),
		cmocka_unit_test(verdicts_follow_the_largest_side),
		cmocka_unit_test(confidence_falls_with_the_quality_of_the_data),
		cmocka_unit_test(evidence_of_one_kind_is_never_sure),
		cmocka_unit_test(without_steps_nothing_is_said),
		cmocka_unit_test(the_heavier_saving_comes_first),
		cmocka_unit_test(launches_of_a_model_that_waits_are_where_they_are_made),
		cmocka_unit_test(moving_tensors_is_no_computing),
		cmocka_unit_test(advice_that_is_followed_is_not_given),
		cmocka_unit_test(a_function_is_named_that_has_most_of_the_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
