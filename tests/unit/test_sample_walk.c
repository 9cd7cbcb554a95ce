/* links: is_analyze is_timeline is_format is_base m */
/* Samples: the times that they stand for, and what is made of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/analysis.h"
#include "base/varint.h"
#include "format/trace_writer.h"
#include "timeline/sample_walk.h"

#define MS 1000000ll

struct file {
	char path[40];
	int fd;
	struct trace_writer *w;
	struct err err;
};

static void file_begin(struct file *f)
{
	const struct trace_process process = { .id = 1, .pid = 10, .end_ns = -1, .name = "p" };
	struct trace_thread thread = { .process = 1, .name = "" };

	strcpy(f->path, "/tmp/inferscope-walk-XXXXXX");
	f->fd = mkstemp(f->path);
	assert_int_equal(trace_writer_new(&f->w, f->fd, &f->err), 0);
	assert_int_equal(trace_write_process(f->w, &process, &f->err), 0);
	for (uint32_t id = 1; id <= 2; id++) {
		thread.id = id;
		thread.tid = 10 + id;
		thread.end_ns = 1000 * (int64_t)MS;
		assert_int_equal(trace_write_thread(f->w, &thread, &f->err), 0);
	}
}

static void add(struct file *f, uint32_t thread, uint32_t stack, int64_t first_ms, int64_t last_ms,
		uint32_t count)
{
	const struct sample s = { .thread = thread,
				  .stack = stack,
				  .count = count,
				  .first_ns = first_ms * MS,
				  .last_ns = last_ms * MS };

	assert_int_equal(trace_write_sample(f->w, 1, &s, &f->err), 0);
}

static struct trace *file_end(struct file *f)
{
	const struct trace_end end = { 1000 * (int64_t)MS, 0 };
	struct trace *t;

	assert_int_equal(trace_write_end(f->w, &end, &f->err), 0);
	trace_writer_free(f->w);
	close(f->fd);
	assert_int_equal(trace_open(&t, f->path, &f->err), 0);
	unlink(f->path);
	return t;
}

struct story_analysis {
	size_t count;
	struct {
		size_t thread;
		uint32_t stack;
		int64_t start_ms, end_ms;
	} items[16];
};

static void analyze_story(void *ctx, const struct timed_sample *s)
{
	struct story_analysis *reported = ctx;

	reported->items[reported->count].thread = s->thread;
	reported->items[reported->count].stack = s->sample->stack;
	reported->items[reported->count].start_ms = s->start_ns / MS;
	reported->items[reported->count++].end_ms = s->end_ns / MS;
}

static void a_sample_lasts_from_halfway_to_halfway(void **state)
{
	struct story_analysis reported = { 0 };
	const struct sample_visitor v = { .ctx = &reported, .sample = analyze_story };
	struct sample_walk w;
	struct trace *t;
	struct file f;

	(void)state;
	file_begin(&f);
	add(&f, 1, 5, 10, 20, 11);
	add(&f, 2, 7, 12, 12, 1);
	add(&f, 1, 6, 24, 24, 1);
	add(&f, 9, 6, 24, 24, 1); /* a thread that nobody knows */
	add(&f, 1, 5, 30, 34, 5);
	add(&f, 1, 6, 734, 734, 1); /* not looked at for long */
	t = file_end(&f);
	assert_int_equal(sample_walk(&w, t, &v, &f.err), 0);
	assert_int_equal(w.unreadable, 0);
	assert_int_equal(reported.count, 5);
	assert_int_equal(reported.items[0].start_ms, 10);
	assert_int_equal(reported.items[0].end_ms, 22);
	assert_int_equal(reported.items[1].start_ms, 22);
	assert_int_equal(reported.items[1].end_ms, 27);
	assert_int_equal(reported.items[2].end_ms, 34 + 125);
	assert_int_equal(reported.items[3].thread, 0);
	assert_int_equal(reported.items[3].start_ms, 734 - 125);
	assert_int_equal(reported.items[3].end_ms, 734);
	assert_int_equal(reported.items[4].thread, 1);
	assert_int_equal(reported.items[4].stack, 7);
	trace_close(t);
}

static void define_code(struct file *f, uint32_t id, const char *name, uint32_t line)
{
	uint8_t payload[64];
	size_t n = varint_put(payload, line);

	n += varint_put(payload + n, strlen(name));
	n += (size_t)snprintf((char *)payload + n, sizeof(payload) - n, "%sf.py", name);
	assert_int_equal(trace_write_def(f->w, DEF_CODE, id, payload, n, &f->err), 0);
}

static void define_stack(struct file *f, uint32_t id, const uint8_t *frames, size_t bytes)
{
	assert_int_equal(trace_write_def(f->w, DEF_STACK, id, frames, bytes, &f->err), 0);
}

static const struct analysis_function *find(const struct analysis *a, const char *name)
{
	for (size_t i = 0; i < a->function_count; i++) {
		if (!strcmp(a->functions[i].name, name))
			return &a->functions[i];
	}
	fail_msg("no function %s", name);
	return NULL;
}

/*
 * 30 ms in inner, called by outer, then 10 ms in outer itself; outer is recursive.
 * An event of the program's knows inner by its qualified name.
 */
static void functions_have_the_time_of_their_samples(void **state)
{
	const uint8_t in_inner[] = { 2, 4, 1, 8, 1, 8 }, in_outer[] = { 1, 9, 1, 8 };
	const struct analysis_function *fn;
	struct analysis *a;
	struct trace *t;
	struct file f;

	(void)state;
	file_begin(&f);
	define_code(&f, 1, "outer", 1);
	define_code(&f, 2, "inner", 20);
	define_code(&f, 3, "Class.inner", 20);
	define_stack(&f, 5, in_inner, sizeof(in_inner));
	define_stack(&f, 6, in_outer, sizeof(in_outer));
	for (int64_t ms = 0; ms < 40; ms++)
		add(&f, 1, ms < 30 ? 5 : 6, ms, ms, 1);
	assert_int_equal(trace_write_event(f.w, 2, 0, RECORD_CALL, 3, 100 * MS, NULL, 0, &f.err),
			 0);
	assert_int_equal(trace_write_event(f.w, 2, 1, RECORD_PAUSED, 0, 101 * MS, NULL, 0, &f.err),
			 0);
	t = file_end(&f);
	assert_int_equal(analysis_new(&a, t, &f.err), 0);
	fn = find(a, "outer");
	assert_true(fn->sampled);
	assert_int_equal(fn->calls, 0);
	assert_int_equal(fn->samples, 10);
	assert_int_equal(fn->self_ns / 100000, 95); /* the last look's time ends with it */
	assert_int_equal(fn->total_ns / 100000, 390);
	fn = find(a, "Class.inner");
	assert_true(fn->sampled);
	assert_int_equal(fn->calls, 1);
	assert_int_equal(fn->samples, 30);
	assert_int_equal(fn->self_ns / 100000, 295);
	/* 1.96 * sqrt(30 * 10 / 40) looks of 39 / 40 ms */
	assert_in_range(fn->self_error_ns, 5200000, 5250000);
	assert_int_equal(a->function_count, 2);
	assert_int_equal(a->trust.samples, 40);
	analysis_free(a);
	trace_close(t);
}

/*
 * outer calls inner, which is left out of the trace: there it all looks like outer's
 * own time, 40 ms of it.  Samples know what was whose.
 */
static void what_is_left_out_of_the_trace_is_told_by_samples(void **state)
{
	const uint8_t in_inner[] = { 2, 4, 1, 8 }, in_outer[] = { 1, 9 };
	const struct analysis_function *fn;
	struct analysis *a;
	struct trace *t;
	struct file f;

	(void)state;
	file_begin(&f);
	define_code(&f, 1, "outer", 1);
	define_code(&f, 2, "inner", 20);
	define_stack(&f, 5, in_inner, sizeof(in_inner));
	define_stack(&f, 6, in_outer, sizeof(in_outer));
	for (int64_t ms = 0; ms < 40; ms++)
		add(&f, 1, ms < 30 ? 5 : 6, ms, ms, 1);
	assert_int_equal(trace_write_event(f.w, 1, 0, RECORD_CALL, 1, 0, NULL, 0, &f.err), 0);
	assert_int_equal(trace_write_event(f.w, 1, 1, RECORD_LEFT_OUT, 2, 1, NULL, 0, &f.err), 0);
	assert_int_equal(trace_write_event(f.w, 1, 2, RECORD_RETURN, 1, 40 * MS, NULL, 0, &f.err),
			 0);
	t = file_end(&f);
	assert_int_equal(analysis_new(&a, t, &f.err), 0);
	fn = find(a, "outer");
	assert_true(fn->sampled);
	assert_int_equal(fn->calls, 1);
	assert_int_equal(fn->total_ns, 40 * MS); /* exact: its own calls were recorded */
	assert_int_equal(fn->self_ns / 100000, 95);
	fn = find(a, "inner");
	assert_true(fn->sampled);
	assert_int_equal(fn->self_ns / 100000, 295);
	assert_in_range((uint64_t)(1000 * a->trust.untraced_share), 750, 760); /* 29.5 of 39 ms */
	analysis_free(a);
	trace_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_lasts_from_halfway_to_halfway),
		cmocka_unit_test(functions_have_the_time_of_their_samples),
		cmocka_unit_test(what_is_left_out_of_the_trace_is_told_by_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
