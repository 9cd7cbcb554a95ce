/* links: is_report */
/*
 * Memory whose truth is known: levels that grow, stay and come back, totals that restart and
 * have gaps.  Looks every 10 ms, unless a test says otherwise.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "memory_scene.h"
#include "report/memory_text.h"

/* The same story with another course of its memory. */
static const struct analysis *forty_steps(struct scene *s, int64_t (*rss)(int64_t))
{
	begin(s, 41 * STEP_NS);
	steps(s, 40, 20 * MS, STEP_NS, STEP_NS - 5 * MS);
	samples(s, "rss_bytes", 0, 41 * STEP_NS, 10 * MS, rss);
	return analysed(s);
}

static int64_t constant(int64_t t)
{
	(void)t;
	return 300 * MB;
}

/* A megabyte more at the end of each step. */
static int64_t leak(int64_t t)
{
	return 300 * MB + MB * (t / STEP_NS);
}

/* Ten for each step, all of it kept from the tenth step on. */
static int64_t cache(int64_t t)
{
	int64_t n = t / STEP_NS;

	return 300 * MB + 10 * MB * (n < 10 ? n : 10);
}

/* Fifty in each step that are given back in its end. */
static int64_t buffer(int64_t t)
{
	return 300 * MB + (t % STEP_NS < 70 * MS ? 50 * MB : 0);
}

/* A megabyte for each step, collected every fifth. */
static int64_t collected(int64_t t)
{
	return 300 * MB + MB * (t / STEP_NS % 5);
}

/* A leak below a buffer that comes and goes. */
static int64_t both(int64_t t)
{
	return buffer(t) + leak(t) - 300 * MB;
}

static void a_leak_has_its_slope(void **state)
{
	struct scene s;
	const struct analysis *a = forty_steps(&s, leak);
	const struct memory_step_figures *m = &a->steps[0].memory;

	(void)state;
	assert_int_equal(m->steps, 40);
	assert_int_equal(m->rss.kind, TREND_GROWS);
	assert_near(m->rss.late.slope, 1e6, 0.02);
	assert_true(m->rss.late.low <= 1e6 && m->rss.late.high >= 1e6);
	assert_near(m->rss_growth_bytes, 1e6, 0.05);
	assert_true(warnings(a, MEMORY_LEAK));
	assert_int_equal(a->memory.processes[0].rss_peak_bytes, 341 * MB);
	assert_near(a->memory.processes[0].rss_trend.late.slope, 1e7, 0.05);
	end(&s);
	a = forty_steps(&s, both);
	assert_int_equal(a->steps[0].memory.rss.kind, TREND_GROWS);
	assert_near(a->steps[0].memory.rss.late.slope, 1e6, 0.02);
	end(&s);
}

static void what_stays_or_comes_back_is_no_leak(void **state)
{
	static const struct {
		int64_t (*rss)(int64_t);
		enum trend_kind kind;
	} courses[] = {
		{ constant, TREND_STEADY },
		{ cache, TREND_SETTLED },
		{ buffer, TREND_STEADY },
		{ collected, TREND_STEADY },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(courses) / sizeof(courses[0]); i++) {
		struct scene s;
		const struct analysis *a = forty_steps(&s, courses[i].rss);

		assert_int_equal(a->steps[0].memory.rss.kind, courses[i].kind);
		assert_int_equal(a->memory.warning_count, 0);
		assert_true(a->memory.recorded);
		end(&s);
	}
}

/* Twenty steps between two looks: a straight line, that nobody has seen. */
static void two_looks_are_no_trend(void **state)
{
	struct scene s;
	const struct analysis *a;

	(void)state;
	begin(&s, 41 * STEP_NS);
	steps(&s, 40, 20 * MS, STEP_NS, STEP_NS - 5 * MS);
	samples(&s, "rss_bytes", 0, 41 * STEP_NS, 41 * STEP_NS, leak);
	a = analysed(&s);
	assert_int_equal(a->steps[0].memory.steps, 40);
	assert_int_equal(a->steps[0].memory.rss.kind, TREND_UNKNOWN);
	end(&s);
}

static void one_step_or_none(void **state)
{
	struct scene s;
	const struct analysis *a;

	(void)state;
	begin(&s, 5 * STEP_NS);
	steps(&s, 1, 100 * MS, STEP_NS, STEP_NS);
	samples(&s, "rss_bytes", 0, 5 * STEP_NS, 10 * MS, leak);
	samples(&s, "minor_faults", 0, 5 * STEP_NS, 10 * MS, leak);
	a = analysed(&s);
	assert_int_equal(a->steps[0].memory.steps, 1);
	assert_int_equal(a->steps[0].memory.rss.kind, TREND_UNKNOWN);
	assert_near(a->steps[0].memory.minor_faults.mean, 1e6, 0.001);
	end(&s);

	begin(&s, 5 * STEP_NS);
	samples(&s, "rss_bytes", 0, 5 * STEP_NS, 10 * MS, leak);
	samples(&s, "minor_faults", 0, 5 * STEP_NS, 10 * MS, leak);
	a = analysed(&s);
	assert_int_equal(a->steps[0].source, STEP_WHOLE_RUN);
	assert_near(a->steps[0].memory.minor_faults.mean, 5e6, 0.001);
	assert_int_equal(a->memory.processes[0].minor_faults.sum, 5 * MB);
	end(&s);

	begin(&s, 5 * STEP_NS);
	steps(&s, 3, 100 * MS, STEP_NS, STEP_NS);
	a = analysed(&s);
	assert_false(a->memory.recorded);
	assert_int_equal(a->steps[0].memory.steps, 0);
	assert_int_equal(a->memory.process_count, 0);
	end(&s);
}

/* 1000 faults in the first half of every step, none outside; a step lasts half of its period. */
static int64_t faults(int64_t t)
{
	int64_t in = t % STEP_NS;

	return 1000 * (t / STEP_NS) + (in < 25 * MS ? 1000 * in / (25 * MS) : 1000);
}

static void faults_of_steps(void **state)
{
	struct scene s;
	const struct analysis *a;
	const struct memory_per_step *f;

	(void)state;
	begin(&s, 21 * STEP_NS);
	steps(&s, 20, 0, STEP_NS, STEP_NS / 2);
	samples(&s, "rss_bytes", 0, 21 * STEP_NS, 10 * MS, constant);
	samples(&s, "minor_faults", 0, 21 * STEP_NS, 10 * MS, faults);
	a = analysed(&s);
	f = &a->steps[0].memory.minor_faults;
	/* Looks fall on the edges of the steps here. */
	assert_true(f->known && fabs(f->mean - 1000) < 1e-6);
	assert_true(fabs(f->least - 1000) < 1e-6 && fabs(f->most - 1000) < 1e-6);
	end(&s);

	/* Here they do not: what happened may have been in the step or not. */
	begin(&s, 21 * STEP_NS);
	steps(&s, 20, 0, STEP_NS, STEP_NS / 2);
	samples(&s, "rss_bytes", 0, 21 * STEP_NS, 10 * MS, constant);
	samples(&s, "minor_faults", 0, 21 * STEP_NS, 35 * MS, faults);
	a = analysed(&s);
	f = &a->steps[0].memory.minor_faults;
	assert_true(f->known && f->least <= f->mean && f->mean <= f->most);
	assert_true(f->least <= 1000 && 1000 <= f->most + 1e-6);
	assert_true(f->least < 900);
	end(&s);
}

/* Hardly anything can have happened between steps that follow each other within microseconds. */
static void slivers_between_steps(void **state)
{
	struct scene s;
	const struct analysis *a;
	const struct memory_per_step *f;

	(void)state;
	begin(&s, 21 * STEP_NS);
	steps(&s, 20, 0, STEP_NS, STEP_NS - 20 * (MS / 1000));
	samples(&s, "rss_bytes", 0, 21 * STEP_NS, 10 * MS, constant);
	samples(&s, "minor_faults", 0, 21 * STEP_NS, 35 * MS, faults);
	a = analysed(&s);
	f = &a->steps[0].memory.minor_faults;
	assert_near(f->mean, 1000, 0.01);
	assert_near(f->least, f->mean, 0.01);
	assert_near(f->most, f->mean, 0.05); /* the last look is of a time behind the steps */
	end(&s);
}

/* Nobody looked for a second: the steps inside it have what they have together. */
static void a_gap_in_the_looks(void **state)
{
	struct scene s;
	const struct analysis *a;

	(void)state;
	begin(&s, 40 * STEP_NS);
	steps(&s, 39, 0, STEP_NS, STEP_NS);
	samples(&s, "rss_bytes", 0, 40 * STEP_NS, 10 * MS, constant);
	buf_add_str(&s.text, "series 1 minor_faults");
	for (int64_t t = 0; t <= 40 * STEP_NS; t += 10 * MS) {
		if (t <= 10 * STEP_NS || t >= 20 * STEP_NS)
			buf_printf(&s.text, " %" PRId64 "@%" PRId64, faults(t), t);
	}
	buf_add_byte(&s.text, '\n');
	a = analysed(&s);
	assert_near(a->steps[0].memory.minor_faults.mean, 1000, 1e-6);
	end(&s);
}

/* One that ends before its last steps were looked at; one that begins to be looked at late. */
static void steps_that_nobody_saw_are_in_no_figure(void **state)
{
	struct scene s;
	const struct analysis *a;

	(void)state;
	begin(&s, 21 * STEP_NS);
	steps(&s, 20, 0, STEP_NS, STEP_NS);
	samples(&s, "rss_bytes", 5 * STEP_NS, 15 * STEP_NS, 10 * MS, constant);
	samples(&s, "minor_faults", 7 * STEP_NS, 9 * STEP_NS, 10 * MS, faults);
	a = analysed(&s);
	assert_int_equal(a->steps[0].memory.steps, 10);
	assert_near(a->steps[0].memory.minor_faults.mean, 1000, 1e-6);
	assert_false(a->steps[0].memory.read_bytes.known);
	end(&s);
}

static int64_t restarts(int64_t t)
{
	return t < 10 * STEP_NS ? 5000 + faults(t) : faults(t - 10 * STEP_NS);
}

static void a_total_that_restarts_goes_on(void **state)
{
	struct scene s;
	const struct analysis *a;

	(void)state;
	begin(&s, 21 * STEP_NS);
	steps(&s, 20, 0, STEP_NS, STEP_NS);
	samples(&s, "rss_bytes", 0, 21 * STEP_NS, 10 * MS, constant);
	samples(&s, "minor_faults", 0, 20 * STEP_NS, 10 * MS, restarts);
	a = analysed(&s);
	assert_int_equal(a->memory.processes[0].minor_faults.sum, 20000);
	assert_near(a->steps[0].memory.minor_faults.mean, 1000, 1e-6);
	end(&s);
}

/* Steps that overlap share what there is. */
static void steps_at_once(void **state)
{
	struct scene s;
	const struct analysis *a;

	(void)state;
	begin(&s, 21 * STEP_NS);
	buf_add_str(&s.text, "1:");
	for (int i = 0; i < 10; i++)
		buf_printf(
			&s.text,
			" [a#%d/1@%" PRId64 " [a#%d/2@%" PRId64 " ]#%d@%" PRId64 " ]#%d@%" PRId64,
			2 * i + 1, i * (200 * MS), 2 * i + 2, i * (200 * MS) + 50 * MS, 2 * i + 1,
			i * (200 * MS) + 150 * MS, 2 * i + 2, i * (200 * MS) + 200 * MS);
	buf_add_byte(&s.text, '\n');
	samples(&s, "rss_bytes", 0, 21 * STEP_NS, 10 * MS, constant);
	samples(&s, "minor_faults", 0, 21 * STEP_NS, 10 * MS, faults);
	a = analysed(&s);
	assert_int_equal(a->steps[0].memory.steps, 20);
	assert_near(a->steps[0].memory.minor_faults.mean, 1000, 1e-6);
	end(&s);
}

/* Faults are said to matter where they must take a part of the step, however fast the kernel is. */
static void faults_that_take_time(void **state)
{
	static const int64_t each[] = { 10000, 30000 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct scene s;
		const struct analysis *a;

		begin(&s, 21 * STEP_NS);
		steps(&s, 20, 0, STEP_NS, STEP_NS);
		samples(&s, "rss_bytes", 0, 21 * STEP_NS, 10 * MS, constant);
		buf_add_str(&s.text, "series 1 minor_faults");
		for (int k = 0; k <= 210; k++)
			buf_printf(&s.text, " %" PRId64 "@%" PRId64, each[i] * k / 10,
				   (int64_t)k * 10 * MS);
		buf_add_byte(&s.text, '\n');
		a = analysed(&s);
		assert_int_equal(warnings(a, MEMORY_MINOR_FAULTS), i);
		end(&s);
	}
}

/*
 * Too few to take that long by themselves; but what time the kernel took is no more than faults
 * take here, or far more.
 */
static void faults_of_a_slow_kernel(void **state)
{
	static const int64_t kernel_us[] = { 10000, 90000 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct scene s;
		const struct analysis *a;

		begin(&s, 21 * STEP_NS);
		steps(&s, 20, 0, STEP_NS, STEP_NS);
		samples(&s, "rss_bytes", 0, 21 * STEP_NS, 10 * MS, constant);
		buf_add_str(&s.text, "series 1 minor_faults");
		for (int k = 0; k <= 21; k++)
			buf_printf(&s.text, " %d@%" PRId64, 10000 * k, k * STEP_NS);
		buf_add_byte(&s.text, '\n');
		buf_printf(&s.text, "series 1 cpu_system_us 0@0 %" PRId64 "@%" PRId64 "\n",
			   21 * kernel_us[i], 21 * STEP_NS);
		a = analysed(&s);
		assert_near(a->steps[0].memory.kernel_us.mean, (double)kernel_us[i], 0.001);
		assert_int_equal(warnings(a, MEMORY_MINOR_FAULTS), !i);
		end(&s);
	}
}

/* Every concern has a sentence, and the sentence the figure. */
static void sentences(void **state)
{
	struct scene s;
	const struct analysis *a = forty_steps(&s, leak);
	struct buf text;

	(void)state;
	buf_init(&text);
	memory_text_meaning(&text, a);
	assert_non_null(strstr(buf_string(&text), "each step leaves 1.00 MB behind"));
	buf_release(&text);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_leak_has_its_slope),
		cmocka_unit_test(what_stays_or_comes_back_is_no_leak),
		cmocka_unit_test(two_looks_are_no_trend),
		cmocka_unit_test(one_step_or_none),
		cmocka_unit_test(faults_of_steps),
		cmocka_unit_test(slivers_between_steps),
		cmocka_unit_test(a_gap_in_the_looks),
		cmocka_unit_test(steps_that_nobody_saw_are_in_no_figure),
		cmocka_unit_test(a_total_that_restarts_goes_on),
		cmocka_unit_test(steps_at_once),
		cmocka_unit_test(faults_that_take_time),
		cmocka_unit_test(faults_of_a_slow_kernel),
		cmocka_unit_test(sentences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
