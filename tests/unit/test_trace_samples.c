/* links: is_format is_base */
/* Samples: what is written is read again, and nothing else is taken for samples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/trace_layout.h"
#include "format/trace_samples.h"
#include "format/trace_writer.h"

/* Whole microseconds: that is how they are kept. */
static const struct sample examples[] = {
	{ .thread = 1, .stack = 7, .flags = 16, .count = 1, .first_ns = 5000, .last_ns = 5000 },
	{ .thread = 2, .stack = 0, .flags = 1, .count = 3, .first_ns = -2000, .last_ns = 4000 },
	{ .thread = 1,
	  .stack = UINT32_MAX,
	  .flags = SAMPLE_WAITS_FOR_LOCK | SAMPLE_LOCK_WAIT,
	  .count = 500,
	  .first_ns = 1000006000,
	  .last_ns = 1500006000,
	  .lock = UINT64_MAX,
	  .holder = 2 },
	{ .thread = 9,
	  .stack = 3,
	  .flags = SAMPLE_CUT,
	  .count = 2,
	  .first_ns = 0,
	  .last_ns = 1000 },
};

#define EXAMPLES (sizeof(examples) / sizeof(examples[0]))

static void assert_same(const struct sample *a, const struct sample *b)
{
	assert_int_equal(a->thread, b->thread);
	assert_int_equal(a->stack, b->stack);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->first_ns, b->first_ns);
	assert_int_equal(a->last_ns, b->last_ns);
	assert_true(a->lock == b->lock);
	assert_int_equal(a->holder, b->holder);
}

static void encode(struct buf *out)
{
	struct sample_queue q = { 0 };

	buf_init(out);
	for (size_t i = 0; i < EXAMPLES; i++)
		assert_int_equal(sample_queue_push(&q, &examples[i]), 0);
	assert_int_equal(sample_queue_encode(&q, out), 0);
	assert_int_equal(q.count, 0);
	sample_queue_release(&q);
}

static void a_file_gives_back_what_was_written(void **state)
{
	const struct trace_process process = { .id = 4, .pid = 100, .end_ns = -1, .name = "p" };
	const struct trace_thread thread = { .id = 2, .process = 4, .tid = 101, .name = "t" };
	const struct trace_end end = { 2000000000, 0 };
	char path[] = "/tmp/inferscope-samples-XXXXXX";
	int fd = mkstemp(path);
	struct trace_writer *w;
	struct sample_batch b;
	struct trace *t;
	struct err err;

	(void)state;
	assert_int_equal(trace_writer_new(&w, fd, &err), 0);
	assert_int_equal(trace_write_sample(w, 4, &examples[0], &err), -1); /* whose? */
	assert_int_equal(trace_write_process(w, &process, &err), 0);
	assert_int_equal(trace_write_thread(w, &thread, &err), 0);
	for (size_t i = 0; i < EXAMPLES; i++)
		assert_int_equal(trace_write_sample(w, 4, &examples[i], &err), 0);
	assert_int_equal(trace_write_end(w, &end, &err), 0);
	trace_writer_free(w);
	close(fd);

	assert_int_equal(trace_open(&t, path, &err), 0);
	assert_null(trace_damage(t));
	assert_int_equal(trace_sample_batch_count(t), 1);
	sample_batch_init(&b);
	assert_int_equal(trace_sample_batch_read(t, 0, &b, &err), 0);
	assert_int_equal(b.process, 4);
	assert_int_equal(b.count, EXAMPLES);
	for (size_t i = 0; i < EXAMPLES; i++)
		assert_same(&b.samples[i], &examples[i]);
	assert_int_equal(trace_thread_find(t, 2), 0);
	assert_int_equal(trace_thread_find(t, 9), trace_thread_count(t));
	sample_batch_release(&b);
	trace_close(t);
	unlink(path);
}

/* A stack that stays, looked at a thousand times a second, is next to nothing in the file. */
static void looks_that_find_the_same_take_little(void **state)
{
	struct sample_queue q = { 0 };
	struct buf out;

	(void)state;
	buf_init(&out);
	for (int64_t i = 0; i < 1000; i++) {
		const struct sample s = {
			1, 7 + (uint32_t)(i & 1), 17, 20, i * 20000000, i * 20000000 + 19000000, 0,
			0
		};

		assert_int_equal(sample_queue_push(&q, &s), 0);
	}
	assert_int_equal(sample_queue_encode(&q, &out), 0);
	assert_true(out.len < (size_t)20 * 1000); /* a byte a look, before it is compressed */
	sample_queue_release(&q);
	buf_release(&out);
}

static void a_payload_that_is_cut_or_too_long_is_refused(void **state)
{
	struct sample samples[EXAMPLES];
	struct buf good;

	(void)state;
	encode(&good);
	assert_int_equal(samples_decode(samples, EXAMPLES, (uint8_t *)good.data, good.len), 0);
	for (size_t n = 0; n < good.len; n++)
		assert_int_equal(samples_decode(samples, EXAMPLES, (uint8_t *)good.data, n), -1);
	buf_add_byte(&good, 0);
	assert_int_equal(samples_decode(samples, EXAMPLES, (uint8_t *)good.data, good.len), -1);
	assert_int_equal(samples_decode(samples, EXAMPLES - 1, (uint8_t *)good.data, good.len - 1),
			 -1);
	buf_release(&good);
}

/* Any bytes: no crash, no time beyond the limits. */
static void what_is_decoded_keeps_to_the_limits(void **state)
{
	struct sample samples[EXAMPLES];
	uint64_t random = 88172645463325252u;
	struct buf good;

	(void)state;
	encode(&good);
	for (int round = 0; round < 20000; round++) {
		uint8_t copy[512];

		memcpy(copy, good.data, good.len);
		for (int i = 0; i < 3; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			copy[random % good.len] = (uint8_t)(random >> 32);
		}
		if (samples_decode(samples, EXAMPLES, copy, good.len))
			continue;
		for (size_t i = 0; i < EXAMPLES; i++) {
			assert_true(samples[i].count > 0);
			assert_true(samples[i].first_ns > -TRACE_TIME_LIMIT);
			assert_true(samples[i].last_ns >= samples[i].first_ns);
			assert_true(samples[i].last_ns < TRACE_TIME_LIMIT);
		}
	}
	buf_release(&good);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_gives_back_what_was_written),
		cmocka_unit_test(looks_that_find_the_same_take_little),
		cmocka_unit_test(a_payload_that_is_cut_or_too_long_is_refused),
		cmocka_unit_test(what_is_decoded_keeps_to_the_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
