/* links: is_format is_base */
/* Series: what is written is read again, runs are two points, and nothing else is taken for them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/trace_layout.h"
#include "format/trace_series.h"
#include "format/trace_writer.h"

#define RSS SERIES_RSS
#define NODE SERIES_NUMA_NODE

/* Whole microseconds: that is how they are kept. */
static const struct series_point examples[] = {
	{ 5000, 4, RSS, 0, 4096 },           { 6000, 4, NODE, 0, INT64_MIN },
	{ 6000, 4, NODE, 7, INT64_MAX },     { -2000, 0, SERIES_MACHINE_TOTAL, 0, -1 },
	{ 10005000, 4, RSS, 0, 0 },          { 10006000, 4, NODE, 0, INT64_MAX },
	{ 10006000, 4, NODE, 7, INT64_MIN }, { 10007000, 4, 65535, UINT32_MAX, 1 },
};

#define EXAMPLES (sizeof(examples) / sizeof(examples[0]))

static void assert_same(const struct series_point *a, const struct series_point *b)
{
	assert_int_equal(a->time_ns, b->time_ns);
	assert_int_equal(a->process, b->process);
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->instance, b->instance);
	assert_true(a->value == b->value);
}

static uint32_t encode(struct buf *out, const struct series_point *points, size_t count)
{
	struct series_queue q = { 0 };
	uint32_t kept;

	buf_init(out);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(series_queue_push(&q, &points[i]), 0);
	kept = series_queue_encode(&q, out);
	assert_int_equal(series_queue_points(&q), 0);
	series_queue_release(&q);
	return kept;
}

static void a_file_gives_back_what_was_written(void **state)
{
	const struct trace_process process = { .id = 4, .pid = 100, .end_ns = -1, .name = "p" };
	const struct trace_end end = { 2000000000, 0 };
	char path[] = "/tmp/inferscope-series-XXXXXX";
	int fd = mkstemp(path);
	struct trace_writer *w;
	struct series_batch b;
	struct trace *t;
	struct err err;

	(void)state;
	assert_int_equal(trace_writer_new(&w, fd, &err), 0);
	assert_int_equal(trace_write_point(w, &examples[0], &err), -1); /* whose? */
	assert_int_equal(trace_write_process(w, &process, &err), 0);
	for (size_t i = 0; i < EXAMPLES; i++)
		assert_int_equal(trace_write_point(w, &examples[i], &err), 0);
	assert_int_equal(trace_write_end(w, &end, &err), 0);
	trace_writer_free(w);
	close(fd);

	assert_int_equal(trace_open(&t, path, &err), 0);
	assert_null(trace_damage(t));
	assert_int_equal(trace_series_batch_count(t), 1);
	series_batch_init(&b);
	assert_int_equal(trace_series_batch_read(t, 0, &b, &err), 0);
	assert_int_equal(b.count, EXAMPLES);
	for (size_t i = 0; i < EXAMPLES; i++)
		assert_same(&b.points[i], &examples[i]);
	series_batch_release(&b);
	trace_close(t);
	unlink(path);
}

/* Two series at once: when each value was first and last seen, and no more. */
static void processes_without_an_agent_are_apart(void **state)
{
	const struct trace_process own = { .id = 4, .pid = 100, .end_ns = -1, .name = "p" };
	struct trace_process watched = { .id = UINT32_MAX,
					 .pid = 101,
					 .parent_pid = 100,
					 .start_ns = 7000,
					 .end_ns = -1,
					 .name = "native" };
	const struct series_point point = { 8000, UINT32_MAX, RSS, 0, 4096 };
	const struct trace_end end = { 2000000000, 0 };
	char path[] = "/tmp/inferscope-series-XXXXXX";
	int fd = mkstemp(path);
	struct trace_writer *w;
	struct trace *t;
	struct err err;

	(void)state;
	assert_int_equal(trace_writer_new(&w, fd, &err), 0);
	assert_int_equal(trace_write_point(w, &point, &err), -1); /* nobody knows it yet */
	assert_int_equal(trace_write_process(w, &own, &err), 0);
	assert_int_equal(trace_write_observed(w, &watched, &err), 0);
	assert_int_equal(trace_write_point(w, &point, &err), 0);
	watched.end_ns = 9000;
	watched.name = "renamed";
	assert_int_equal(trace_write_observed(w, &watched, &err), 0);
	assert_int_equal(trace_write_end(w, &end, &err), 0);
	trace_writer_free(w);
	close(fd);
	assert_int_equal(trace_open(&t, path, &err), 0);
	assert_null(trace_damage(t));
	assert_int_equal(trace_process_count(t), 1);
	assert_int_equal(trace_observed_count(t), 1);
	assert_int_equal(trace_observed(t, 0)->id, UINT32_MAX);
	assert_int_equal(trace_observed(t, 0)->pid, 101);
	assert_int_equal(trace_observed(t, 0)->parent_pid, 100);
	assert_int_equal(trace_observed(t, 0)->start_ns, 7000);
	assert_int_equal(trace_observed(t, 0)->end_ns, 9000);
	assert_string_equal(trace_observed(t, 0)->name, "renamed");
	trace_close(t);
	unlink(path);
}

static void a_value_that_stays_is_two_points(void **state)
{
	static const int64_t rss[] = { 7, 7, 7, 7, 9, 9, 8, 8 };
	static const struct series_point kept[] = {
		{ 0, 1, RSS, 0, 7 },    { 0, 1, SERIES_THREADS, 0, 3 },
		{ 3000, 1, RSS, 0, 7 }, { 4000, 1, RSS, 0, 9 },
		{ 5000, 1, RSS, 0, 9 }, { 6000, 1, RSS, 0, 8 },
		{ 7000, 1, RSS, 0, 8 }, { 7000, 1, SERIES_THREADS, 0, 3 },
	};
	struct series_point points[16], out[16], scratch[16];
	struct buf coded;
	uint32_t count;

	(void)state;
	for (size_t i = 0; i < 8; i++) {
		points[2 * i] = (struct series_point){ (int64_t)i * 1000, 1, RSS, 0, rss[i] };
		points[2 * i + 1] =
			(struct series_point){ (int64_t)i * 1000, 1, SERIES_THREADS, 0, 3 };
	}
	count = encode(&coded, points, 16);
	assert_int_equal(count, sizeof(kept) / sizeof(kept[0]));
	assert_int_equal(series_decode(out, scratch, count, (uint8_t *)coded.data, coded.len), 0);
	for (size_t i = 0; i < count; i++)
		assert_same(&out[i], &kept[i]);
	buf_release(&coded);
}

/* Ten minutes of a quiet process, looked at a hundred times a second. */
static void what_does_not_change_takes_next_to_nothing(void **state)
{
	struct series_queue q = { 0 };
	struct buf out;

	(void)state;
	buf_init(&out);
	for (int64_t i = 0; i < 60000; i++) {
		for (uint32_t kind = 1; kind < 20; kind++) {
			const struct series_point p = { i * 10000000, 1, kind, 0, 1 << kind };

			assert_int_equal(series_queue_push(&q, &p), 0);
		}
	}
	assert_int_equal(series_queue_encode(&q, &out), 2 * 19);
	assert_true(out.len < 400);
	series_queue_release(&q);
	buf_release(&out);
}

/* A queue that was written out begins anew: a block needs no other one to be read. */
static void each_block_tells_its_series_again(void **state)
{
	const struct series_point p = { 1000, 1, RSS, 0, 5 }, later = { 9000, 1, RSS, 0, 5 };
	struct series_point out, scratch;
	struct series_queue q = { 0 };
	struct buf coded;

	(void)state;
	buf_init(&coded);
	assert_int_equal(series_queue_encode(&q, &coded), 0);
	assert_int_equal(series_queue_push(&q, &p), 0);
	assert_int_equal(series_queue_encode(&q, &coded), 1);
	assert_int_equal(series_queue_push(&q, &later), 0);
	assert_int_equal(series_queue_encode(&q, &coded), 1);
	assert_int_equal(series_decode(&out, &scratch, 1, (uint8_t *)coded.data, coded.len), 0);
	assert_same(&out, &later);
	series_queue_release(&q);
	buf_release(&coded);
}

static int decode_copy(const struct buf *b, size_t bytes, size_t count)
{
	struct series_point out[EXAMPLES], scratch[EXAMPLES];

	return series_decode(out, scratch, count, (const uint8_t *)b->data, bytes);
}

static void a_payload_that_is_cut_or_too_long_is_refused(void **state)
{
	struct buf good;

	(void)state;
	assert_int_equal(encode(&good, examples, EXAMPLES), EXAMPLES);
	assert_int_equal(decode_copy(&good, good.len, EXAMPLES), 0);
	assert_int_equal(decode_copy(&good, good.len, EXAMPLES - 1), -1);
	for (size_t n = 0; n < good.len; n++)
		assert_int_equal(decode_copy(&good, n, EXAMPLES), -1);
	buf_add_byte(&good, 0);
	assert_int_equal(decode_copy(&good, good.len, EXAMPLES), -1);
	buf_release(&good);
}

/* Any bytes: no crash, no time beyond the limits. */
static void what_is_decoded_keeps_to_the_limits(void **state)
{
	struct series_point out[EXAMPLES], scratch[EXAMPLES];
	uint64_t random = 88172645463325252u;
	int taken = 0;
	struct buf good;

	(void)state;
	encode(&good, examples, EXAMPLES);
	for (int round = 0; round < 20000; round++) {
		uint8_t copy[512];

		memcpy(copy, good.data, good.len);
		for (int i = 0; i < 3; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			copy[random % good.len] = (uint8_t)(random >> 32);
		}
		if (series_decode(out, scratch, EXAMPLES, copy, good.len))
			continue;
		taken++;
		for (size_t i = 0; i < EXAMPLES; i++) {
			assert_true(out[i].time_ns > -TRACE_TIME_LIMIT);
			assert_true(out[i].time_ns < TRACE_TIME_LIMIT);
			assert_true(out[i].kind < 65536);
		}
	}
	assert_true(taken > 100);
	buf_release(&good);
}

static void quantities_are_found_by_number_and_by_name(void **state)
{
	const struct series_quantity *q;
	uint32_t last = 0;

	(void)state;
	for (size_t i = 0; (q = series_quantity_at(i)); i++) {
		assert_true((uint32_t)q->kind > last);
		last = q->kind;
		assert_ptr_equal(series_quantity(q->kind), q);
		assert_ptr_equal(series_quantity_named(q->name), q);
		assert_non_null(series_unit_name(q->unit));
	}
	assert_null(series_quantity(0));
	assert_null(series_quantity(last + 1));
	assert_null(series_quantity_named("rss"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_gives_back_what_was_written),
		cmocka_unit_test(processes_without_an_agent_are_apart),
		cmocka_unit_test(a_value_that_stays_is_two_points),
		cmocka_unit_test(what_does_not_change_takes_next_to_nothing),
		cmocka_unit_test(each_block_tells_its_series_again),
		cmocka_unit_test(a_payload_that_is_cut_or_too_long_is_refused),
		cmocka_unit_test(what_is_decoded_keeps_to_the_limits),
		cmocka_unit_test(quantities_are_found_by_number_and_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
