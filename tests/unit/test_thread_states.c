/* links: is_analyze */
/*
 * What is made of looks at threads: how long each ran and waited, and who had what
 * they waited for, in traces of which that is known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/analysis.h"
#include "base/buf.h"
#include "trace_sample.h"

#define MS 1000000
#define THREADS 4u

/* Functions: their code id is their letter. */
#define CODE(letter) ((uint32_t)(unsigned char)(letter))

struct samples {
	struct memory_file file;
	struct trace_writer *writer;
	uint32_t next_id;
	struct trace *trace;
	struct analysis *analysis;
};

static void define(struct samples *l, uint8_t kind, uint32_t id, const void *payload, size_t bytes)
{
	struct err err;

	must(trace_write_def(l->writer, kind, id, payload, bytes, &err));
}

static void looks_begin(struct samples *l)
{
	const struct trace_process process = { .id = 1, .pid = 100, .name = "app", .end_ns = -1 };
	struct err err;

	memset(l, 0, sizeof(*l));
	l->next_id = 1000;
	memory_file_init(&l->file);
	must(trace_writer_new(&l->writer, l->file.fd, &err));
	must(trace_write_process(l->writer, &process, &err));
	for (uint32_t id = 1; id <= THREADS; id++) {
		const struct trace_thread thread = {
			.id = id, .process = 1, .tid = 10 * id, .end_ns = -1, .name = ""
		};

		must(trace_write_thread(l->writer, &thread, &err));
	}
	for (int letter = 'a'; letter <= 'z'; letter++) {
		char payload[] = { 7, 1, (char)letter, 'f', '.', 'p', 'y' };

		define(l, DEF_CODE, CODE(letter), payload, sizeof(payload));
	}
	define(l, DEF_CODE, CODE('W'),
	       "\x07\x0e"
	       "Condition.wait"
	       "/lib/threading.py",
	       33);
	define(l, DEF_CODE, CODE('N'),
	       "\x07\x07"
	       "argsort"
	       "/x/site-packages/numpy/n.py",
	       36);
}

/* "abc": a called b, which called c. */
static uint32_t stack_of(struct samples *l, const char *functions)
{
	struct buf payload;

	if (!*functions)
		return 0;
	buf_init(&payload);
	for (size_t i = strlen(functions); i-- > 0;) {
		buf_add_varint(&payload, CODE(functions[i]));
		buf_add_varint(&payload, 4);
	}
	define(l, DEF_STACK, ++l->next_id, payload.data, payload.len);
	buf_release(&payload);
	return l->next_id;
}

/* Looks at every millisecond from `from` up to and without `to`. */
static void sample(struct samples *l, uint32_t thread, int from_ms, int to_ms,
		   const char *functions, uint32_t flags, uint64_t lock)
{
	const struct sample s = {
		.thread = thread,
		.stack = stack_of(l, functions),
		.flags = flags | (lock ? SAMPLE_WAITS_FOR_LOCK : 0),
		.count = (uint32_t)(to_ms - from_ms),
		.first_ns = (int64_t)from_ms * MS,
		.last_ns = (int64_t)(to_ms - 1) * MS,
		.lock = lock,
	};
	struct err err;

	must(trace_write_sample(l->writer, 1, &s, &err));
}

static const struct analysis *looks_end(struct samples *l)
{
	const struct trace_end end = { (int64_t)1000 * MS, 0 };
	struct err err;

	must(trace_write_end(l->writer, &end, &err));
	trace_writer_free(l->writer);
	must(trace_open(&l->trace, l->file.path, &err));
	must(analysis_new(&l->analysis, l->trace, &err));
	return l->analysis;
}

static void looks_release(struct samples *l)
{
	analysis_free(l->analysis);
	trace_close(l->trace);
	close(l->file.fd);
}

/* Looks are a millisecond apart: a boundary is known to within that. */
static void assert_ms(int64_t ns, int ms)
{
	assert_in_range(ns + MS, (int64_t)ms * MS, (int64_t)(ms + 2) * MS);
}

static int64_t wait_ns(const struct analysis_waits *w, const char *waiter, const char *holder,
		       enum wait_evidence evidence)
{
	for (size_t i = 0; i < w->count; i++) {
		const struct analysis_wait *x = &w->items[i];

		if (!strcmp(x->waiter.name ? x->waiter.name : "?", waiter) &&
		    !strcmp(x->holder.name ? x->holder.name : "?", holder) &&
		    x->evidence == evidence)
			return x->ns;
	}
	return 0;
}

static void test_time_in_each_state(void **state)
{
	const struct analysis_states *s;
	struct samples l;

	(void)state;
	looks_begin(&l);
	sample(&l, 1, 0, 100, "a", SAMPLE_RUNNING | SAMPLE_HAS_GIL, 0);
	sample(&l, 1, 100, 130, "a", SAMPLE_IO_WAIT, 0);
	sample(&l, 1, 130, 150, "a", SAMPLE_OFF_CPU, 0);
	sample(&l, 1, 150, 200, "", SAMPLE_UNKNOWN, 0);
	/* Nobody looked for 400 ms: of that 125 ms are claimed on either side. */
	sample(&l, 1, 600, 700, "a", SAMPLE_RUNNING, 0);
	s = &looks_end(&l)->threads[0].states;
	assert_true(s->known);
	assert_ms(s->ns[SAMPLE_RUNNING], 324);
	assert_ms(s->ns[SAMPLE_IO_WAIT], 30);
	assert_ms(s->ns[SAMPLE_OFF_CPU], 20);
	assert_ms(s->ns[SAMPLE_UNKNOWN], 175);
	assert_ms(s->has_gil_ns, 100);
	assert_false(l.analysis->threads[1].states.known);
	looks_release(&l);
}

static void test_who_waits_for_the_gil_and_who_has_it(void **state)
{
	const struct analysis_waits *gil;
	struct samples l;

	(void)state;
	looks_begin(&l);
	sample(&l, 1, 0, 60, "ab", SAMPLE_RUNNING | SAMPLE_HAS_GIL, 0);
	sample(&l, 1, 60, 100, "ab", SAMPLE_GIL_WAIT, 0);
	sample(&l, 2, 0, 60, "c", SAMPLE_GIL_WAIT, 0);
	sample(&l, 2, 60, 90, "c", SAMPLE_RUNNING | SAMPLE_HAS_GIL, 0);
	sample(&l, 2, 90, 100, "c", SAMPLE_RUNNING, 0); /* it let go of it */
	gil = &looks_end(&l)->gil;
	assert_ms(gil->total_ns, 100);
	assert_ms(wait_ns(gil, "c", "b", WAIT_HOLDER_SEEN), 60);
	assert_ms(wait_ns(gil, "b", "c", WAIT_HOLDER_SEEN), 30);
	assert_ms(wait_ns(gil, "b", "?", WAIT_HOLDER_UNKNOWN), 10);
	assert_int_equal(gil->count, 3);
	assert_string_equal(gil->items[0].waiter.name, "c"); /* the longest first */
	looks_release(&l);
}

static void test_no_wait_no_contention(void **state)
{
	const struct analysis *a;
	struct samples l;

	(void)state;
	looks_begin(&l);
	sample(&l, 1, 0, 100, "a", SAMPLE_RUNNING | SAMPLE_HAS_GIL, 0);
	sample(&l, 2, 0, 100, "b", SAMPLE_RUNNING, 0);
	sample(&l, 3, 0, 100, "c", SAMPLE_IO_WAIT, 0);
	a = looks_end(&l);
	assert_int_equal(a->gil.count, 0);
	assert_int_equal(a->gil.total_ns, 0);
	assert_int_equal(a->locks.count, 0);
	looks_release(&l);
}

/* 1 has the lock and nobody saw it take it; 2 and 3 want it and get it in turn. */
static void test_holders_of_a_lock(void **state)
{
	const struct analysis_waits *locks;
	struct samples l;

	(void)state;
	looks_begin(&l);
	sample(&l, 1, 0, 50, "ah", SAMPLE_RUNNING, 0);
	sample(&l, 1, 50, 100, "ahb", SAMPLE_RUNNING, 0);
	sample(&l, 1, 100, 200, "a", SAMPLE_LOCK_WAIT, 0x99); /* of its own */
	sample(&l, 2, 0, 100, "c", SAMPLE_LOCK_WAIT, 0x10);
	sample(&l, 2, 100, 160, "ci", SAMPLE_IO_WAIT, 0);
	sample(&l, 3, 0, 160, "d", SAMPLE_LOCK_WAIT, 0x10);
	sample(&l, 3, 160, 200, "d", SAMPLE_RUNNING, 0);
	sample(&l, 4, 0, 200, "W", SAMPLE_LOCK_WAIT, 0x77); /* a condition: nobody holds it */
	locks = &looks_end(&l)->locks;
	assert_ms(wait_ns(locks, "c", "h", WAIT_HOLDER_LIKELY), 100);
	assert_ms(wait_ns(locks, "d", "h", WAIT_HOLDER_LIKELY), 100);
	assert_ms(wait_ns(locks, "d", "c", WAIT_HOLDER_SEEN), 60);
	assert_int_equal(wait_ns(locks, "Condition.wait", "?", WAIT_HOLDER_UNKNOWN), 0);
	looks_release(&l);
}

/* Whose code it is that has it: a library's function was called by somebody. */
static void test_a_holder_in_a_library_is_who_called_it(void **state)
{
	const struct analysis_waits *locks;
	struct samples l;

	(void)state;
	looks_begin(&l);
	sample(&l, 1, 0, 100, "ahN", SAMPLE_RUNNING, 0);
	sample(&l, 1, 100, 200, "a", SAMPLE_RUNNING, 0);
	sample(&l, 2, 0, 100, "c", SAMPLE_LOCK_WAIT, 0x10);
	sample(&l, 3, 0, 100, "N", SAMPLE_LOCK_WAIT, 0x99);
	locks = &looks_end(&l)->locks;
	assert_ms(wait_ns(locks, "c", "h", WAIT_HOLDER_LIKELY), 100);
	looks_release(&l);
}

/* A thread that gets it again and again is in the same loop as who waits: not the loop has it. */
static void test_a_loop_that_both_are_in_holds_no_lock(void **state)
{
	const struct analysis_waits *locks;
	struct samples l;

	(void)state;
	looks_begin(&l);
	sample(&l, 1, 0, 60, "ab", SAMPLE_RUNNING, 0);
	sample(&l, 1, 60, 70, "ah", SAMPLE_RUNNING, 0);
	sample(&l, 1, 70, 100, "ab", SAMPLE_RUNNING, 0);
	sample(&l, 1, 100, 200, "c", SAMPLE_RUNNING, 0);
	sample(&l, 2, 0, 100, "ad", SAMPLE_LOCK_WAIT, 0x10);
	sample(&l, 2, 100, 200, "ad", SAMPLE_RUNNING, 0);
	locks = &looks_end(&l)->locks;
	assert_ms(wait_ns(locks, "d", "b", WAIT_HOLDER_LIKELY), 100);
	looks_release(&l);
}

/* Two threads run while a third waits: the one that leaves its function at the end had it. */
static void test_of_two_the_one_that_lets_go(void **state)
{
	const struct analysis_waits *locks;
	struct samples l;

	(void)state;
	looks_begin(&l);
	sample(&l, 1, 0, 200, "ab", SAMPLE_RUNNING, 0);
	sample(&l, 2, 0, 100, "ch", SAMPLE_RUNNING, 0);
	sample(&l, 2, 100, 200, "c", SAMPLE_RUNNING, 0);
	sample(&l, 3, 0, 100, "d", SAMPLE_LOCK_WAIT, 0x10);
	sample(&l, 3, 100, 200, "d", SAMPLE_RUNNING, 0);
	locks = &looks_end(&l)->locks;
	assert_ms(wait_ns(locks, "d", "h", WAIT_HOLDER_LIKELY), 100);
	looks_release(&l);
}

static void test_unknown_where_it_cannot_be_told(void **state)
{
	const struct analysis_waits *locks;
	struct samples l;

	(void)state;
	looks_begin(&l);
	sample(&l, 1, 0, 200, "ab", SAMPLE_RUNNING, 0); /* both go on as before */
	sample(&l, 2, 0, 200, "ch", SAMPLE_RUNNING, 0);
	sample(&l, 3, 0, 100, "d", SAMPLE_LOCK_WAIT, 0x10);
	sample(&l, 3, 100, 200, "d", SAMPLE_RUNNING, 0);
	sample(&l, 4, 0, 100, "e", SAMPLE_LOCK_WAIT, 0); /* parked: which lock is not known */
	locks = &looks_end(&l)->locks;
	assert_ms(wait_ns(locks, "d", "?", WAIT_HOLDER_UNKNOWN), 100);
	assert_ms(wait_ns(locks, "e", "?", WAIT_HOLDER_UNKNOWN), 100);
	looks_release(&l);
}

/* It got the lock, and left the function that wanted it: it may have it no more. */
static void test_an_owner_that_has_left_is_not_blamed(void **state)
{
	const struct analysis_waits *locks;
	struct samples l;

	(void)state;
	looks_begin(&l);
	sample(&l, 1, 0, 50, "ab", SAMPLE_LOCK_WAIT, 0x10);
	sample(&l, 1, 50, 100, "ab", SAMPLE_RUNNING, 0);
	sample(&l, 1, 100, 300, "ax", SAMPLE_RUNNING, 0);
	sample(&l, 2, 0, 300, "y", SAMPLE_RUNNING, 0);
	sample(&l, 3, 50, 200, "d", SAMPLE_LOCK_WAIT, 0x10);
	sample(&l, 3, 200, 300, "d", SAMPLE_RUNNING, 0);
	locks = &looks_end(&l)->locks;
	assert_ms(wait_ns(locks, "d", "b", WAIT_HOLDER_SEEN), 50);
	assert_ms(wait_ns(locks, "d", "?", WAIT_HOLDER_UNKNOWN), 100);
	looks_release(&l);
}

static void native(struct samples *l, uint32_t thread, int at_ms, uint32_t place)
{
	const struct sample s = {
		.thread = thread,
		.stack = place,
		.flags = SAMPLE_NATIVE | SAMPLE_RUNNING,
		.count = 1,
		.first_ns = (int64_t)at_ms * MS,
		.last_ns = (int64_t)at_ms * MS,
	};
	struct err err;

	must(trace_write_sample(l->writer, 1, &s, &err));
}

static void test_native_code_belongs_to_a_python_function(void **state)
{
	const struct analysis_native *n;
	struct samples l;

	(void)state;
	looks_begin(&l);
	sample(&l, 1, 0, 100, "a", SAMPLE_RUNNING, 0);
	sample(&l, 1, 100, 200, "ab", SAMPLE_RUNNING, 0);
	for (int i = 0; i < 10; i++)
		native(&l, 1, 10 * i, i % 2 ? 501 : 502); /* two places of one function */
	for (int i = 0; i < 5; i++)
		native(&l, 1, 110 + 10 * i, 501);
	native(&l, 0, 50, 501); /* a thread without Python */
	native(&l, 1, 60, 503); /* never defined */
	/* Names come last, as from the recorder. */
	define(&l, DEF_STRING, 601, "_ZN3mkl4gemmEv", 14);
	define(&l, DEF_STRING, 602, "/lib/libmkl.so", 14);
	define(&l, DEF_NATIVE, 501, "\xd9\x04\xda\x04", 4);
	define(&l, DEF_NATIVE, 502, "\xd9\x04\xda\x04", 4);
	n = &looks_end(&l)->native;
	assert_int_equal(n->samples, 17);
	assert_int_equal(n->count, 4);
	assert_int_equal(n->rows[0].samples, 10);
	assert_string_equal(n->rows[0].symbol, "mkl::gemm()");
	assert_string_equal(n->rows[0].library, "/lib/libmkl.so");
	assert_string_equal(n->rows[0].python.name, "a");
	assert_int_equal(n->rows[1].samples, 5);
	assert_string_equal(n->rows[1].python.name, "b");
	for (size_t i = 2; i < 4; i++)
		assert_true(!n->rows[i].python.name != !n->rows[i].symbol);
	looks_release(&l);
}

/* One function of a library may have most, and another library more in all of its functions. */
static void test_native_code_is_summed_by_library(void **state)
{
	const struct analysis_native *n;
	struct samples l;

	(void)state;
	looks_begin(&l);
	sample(&l, 1, 0, 100, "a", SAMPLE_RUNNING, 0);
	for (int i = 0; i < 4; i++)
		native(&l, 1, i, 501); /* of no name */
	for (int i = 0; i < 3; i++) {
		native(&l, 1, 10 + i, 502);
		native(&l, 0, 20 + i, 503);
	}
	native(&l, 1, 30, 504);
	native(&l, 1, 31, 504);
	native(&l, 1, 32, 505);
	define(&l, DEF_STRING, 601, "conv", 4);
	define(&l, DEF_STRING, 602, "pool", 4);
	define(&l, DEF_STRING, 603, "/lib/libgomp.so", 15);
	define(&l, DEF_STRING, 604, "/lib/libtorch.so", 16);
	define(&l, DEF_STRING, 605, "/lib/libz.so", 12);
	define(&l, DEF_NATIVE, 501, "\0\xdb\x04", 3);
	define(&l, DEF_NATIVE, 502, "\xd9\x04\xdc\x04", 4);
	define(&l, DEF_NATIVE, 503, "\xda\x04\xdc\x04", 4);
	define(&l, DEF_NATIVE, 504, "\xd9\x04\xdd\x04", 4);
	define(&l, DEF_NATIVE, 505, "\xda\x04\xdd\x04", 4);
	n = &looks_end(&l)->native;
	assert_int_equal(n->rows[0].samples, 4);
	assert_string_equal(n->rows[0].library, "/lib/libgomp.so");
	assert_int_equal(n->library_count, 3);
	assert_string_equal(n->libraries[0].library, "/lib/libtorch.so");
	assert_int_equal(n->libraries[0].samples, 6);
	assert_null(n->libraries[0].symbol); /* half of it is not most of it */
	assert_string_equal(n->libraries[1].library, "/lib/libgomp.so");
	assert_null(n->libraries[1].symbol);
	assert_string_equal(n->libraries[2].library, "/lib/libz.so");
	assert_string_equal(n->libraries[2].symbol, "conv");
	looks_release(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_time_in_each_state),
		cmocka_unit_test(test_who_waits_for_the_gil_and_who_has_it),
		cmocka_unit_test(test_no_wait_no_contention),
		cmocka_unit_test(test_holders_of_a_lock),
		cmocka_unit_test(test_a_holder_in_a_library_is_who_called_it),
		cmocka_unit_test(test_a_loop_that_both_are_in_holds_no_lock),
		cmocka_unit_test(test_of_two_the_one_that_lets_go),
		cmocka_unit_test(test_unknown_where_it_cannot_be_told),
		cmocka_unit_test(test_an_owner_that_has_left_is_not_blamed),
		cmocka_unit_test(test_native_code_belongs_to_a_python_function),
		cmocka_unit_test(test_native_code_is_summed_by_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
