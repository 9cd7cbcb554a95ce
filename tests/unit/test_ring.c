/* links: is_capture is_agent_core */
/*
 * Both halves of the ring protocol in one process, where the thread sanitizer
 * sees them: many writers, one drain, and the equation that every report rests
 * on: produced = stored + lost, for each thread.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/core/session.h"
#include "capture/session/recording.h"
#include "format/trace.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define TOTAL_EVENTS 640000u
#else
#define TOTAL_EVENTS 10000000u
#endif
#define THREADS 64u

struct bench {
	struct recording *recording;
	int fd;
	_Atomic uint32_t running;
	uint64_t events; /* for each thread */
};

static void bench_start(struct bench *b, uint64_t buffer_mb, bool keep_newest)
{
	struct recording_options options = { .buffer_bytes = buffer_mb << 20,
					     .keep_newest = keep_newest };
	struct err err;

	memset(b, 0, sizeof(*b));
	b->fd = memfd_create("trace", MFD_CLOEXEC);
	assert_true(b->fd >= 0);
	assert_int_equal(recording_new(&b->recording, b->fd, &options, &err), 0);
	assert_int_equal(session_join(recording_where(b->recording), 0), 0);
}

/* Writes events whose id is their number, the thread's own number as the first. */
static void *write_events(void *arg)
{
	struct bench *b = arg;

	for (uint64_t i = 0; i < b->events; i++) {
		struct ring *r = session_ring();

		assert_non_null(r);
		if (i % 1024 == 1023)
			ring_push_payload(r, RECORD_MARK, (uint32_t)i, "0123456789abc", 13);
		else
			ring_push(r, RECORD_CALL, (uint32_t)i);
	}
	atomic_fetch_sub(&b->running, 1);
	return NULL;
}

static void bench_run(struct bench *b, uint32_t threads, uint64_t events, bool drain_meanwhile)
{
	pthread_t ids[THREADS];

	b->events = events;
	atomic_store(&b->running, threads);
	for (uint32_t i = 0; i < threads; i++)
		assert_int_equal(pthread_create(&ids[i], NULL, write_events, b), 0);
	while (drain_meanwhile && atomic_load(&b->running))
		recording_cycle(b->recording);
	for (uint32_t i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
}

static struct trace *bench_end(struct bench *b)
{
	struct trace *t = NULL;
	struct err err;
	char path[64];

	session_leave();
	recording_end(b->recording, 0);
	assert_null(recording_trouble(b->recording));
	recording_free(b->recording);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", b->fd);
	assert_int_equal(trace_open(&t, path, &err), 0);
	assert_null(trace_damage(t));
	close(b->fd);
	return t;
}

/*
 * Every stored event is the one its number says, each thread's numbers rise, the
 * last one is there (in how many threads: *complete), and stored + lost =
 * produced.  With keep_newest, threads of which nothing is left share an entry.
 * Returns what was lost.
 */
static uint64_t check_some(struct trace *t, uint32_t threads, uint64_t events, uint32_t *complete)
{
	struct event_batch batch;
	uint64_t all_lost = 0, all_produced = 0;
	struct err err;

	event_batch_init(&batch);
	for (size_t i = 0; i < trace_thread_count(t); i++) {
		const struct trace_thread *thread = trace_thread(t, i);
		uint64_t stored = 0, last = 0;
		int64_t time = 0;

		for (size_t n = 0; n < trace_batch_count(t, i); n++) {
			assert_int_equal(trace_batch_read(t, i, n, &batch, &err), 0);
			for (size_t e = 0; e < batch.count; e++) {
				uint64_t number = batch.first_index + e;

				assert_int_equal(batch.ids[e], number);
				assert_true(batch.times_ns[e] >= time);
				time = batch.times_ns[e];
				last = number;
			}
			stored += batch.count;
		}
		if (stored)
			assert_int_equal(thread->produced, events);
		assert_int_equal(stored + thread->lost, thread->produced);
		all_produced += thread->produced;
		*complete += stored && last == events - 1;
		all_lost += thread->lost;
	}
	assert_int_equal(all_produced, threads * events);
	event_batch_release(&batch);
	trace_close(t);
	return all_lost;
}

static uint64_t check_threads(struct trace *t, uint32_t threads, uint64_t events)
{
	uint32_t complete = 0;
	uint64_t lost = check_some(t, threads, events, &complete);

	assert_int_equal(complete, threads);
	return lost;
}

static void sixty_four_threads_lose_nothing_with_room(void **state)
{
	struct bench b;

	(void)state;
	bench_start(&b, 512, false);
	bench_run(&b, THREADS, TOTAL_EVENTS / THREADS, true);
	assert_int_equal(check_threads(bench_end(&b), THREADS, TOTAL_EVENTS / THREADS), 0);
}

static void sixty_four_threads_add_up_without_room(void **state)
{
	struct bench b;

	(void)state;
	bench_start(&b, 16, false);
	bench_run(&b, THREADS, TOTAL_EVENTS / THREADS, true);
	check_threads(bench_end(&b), THREADS, TOTAL_EVENTS / THREADS);
}

/* Nobody drains: the newest events fill the buffer, the rest is counted. */
static void overflow_keeps_the_newest(void **state)
{
	struct bench b;
	uint64_t lost, events = 400000, fits = (1u << 20) / sizeof(struct record);

	(void)state;
	bench_start(&b, 1, false);
	recording_cycle(b.recording);
	bench_run(&b, 1, events, false);
	lost = check_threads(bench_end(&b), 1, events);
	assert_true(lost > 0);
	assert_true(events - lost > fits * 9 / 10);
}

static void overflow_in_every_thread_adds_up(void **state)
{
	struct bench b;

	(void)state;
	bench_start(&b, 1, false);
	bench_run(&b, 40, 20000, false);
	/* 32 blocks for 40 threads: some never got one, yet each is accounted for. */
	session_leave();
	recording_end(b.recording, 0);
	assert_int_equal(drain_totals(recording_drain(b.recording)).stored +
				 drain_totals(recording_drain(b.recording)).lost,
			 40u * 20000u);
	recording_free(b.recording);
	close(b.fd);
}

static void ring_mode_keeps_the_newest_of_a_long_run(void **state)
{
	struct bench b;
	uint64_t lost, events = TOTAL_EVENTS / 8;
	uint32_t complete = 0;

	(void)state;
	bench_start(&b, 4, true);
	bench_run(&b, 4, events, true);
	lost = check_some(bench_end(&b), 4, events, &complete);
	assert_true(complete > 0); /* a thread that ended long before the others may be gone */
	assert_true(lost > 0);
	assert_true(lost < 4 * events);
}

/* Threads come and go: entries and blocks are reused, numbers start over. */
static void threads_that_come_and_go_are_told_apart(void **state)
{
	struct bench b;

	(void)state;
	bench_start(&b, 2, false);
	for (unsigned round = 0; round < 50; round++) {
		bench_run(&b, 8, 300, false);
		recording_cycle(b.recording);
	}
	assert_int_equal(check_threads(bench_end(&b), 400, 300), 0);
}

static void definitions_survive_an_overflow(void **state)
{
	struct bench b;
	struct trace *t;
	struct ring *r;

	(void)state;
	bench_start(&b, 1, false);
	r = session_ring();
	assert_non_null(r);
	assert_true(ring_define(r, DEF_STRING, 7, "early", 5, NULL, 0));
	for (uint32_t i = 0; i < 500000; i++)
		ring_push(r, RECORD_CALL, 7);
	assert_true(ring_define(r, DEF_STRING, 8, "la", 2, "te", 2));
	t = bench_end(&b);
	assert_string_equal(trace_string(t, 7), "early");
	assert_string_equal(trace_string(t, 8), "late");
	assert_true(trace_thread(t, 0)->lost > 0);
	trace_close(t);
	free(session_my_ring); /* it belongs to a session that is gone */
	session_my_ring = NULL;
}

/* Wherever the seam lies. */
static void two_parts_make_one_definition(void **state)
{
	static const char text[] = "abcdefghijklmnopqrstuvwxyz";
	struct bench b;
	struct trace *t;
	struct ring *r;

	(void)state;
	bench_start(&b, 1, false);
	r = session_ring();
	assert_non_null(r);
	for (uint32_t first = 0; first < 18; first++) {
		for (uint32_t second = 0; second < 9; second++)
			assert_true(ring_define(r, DEF_STRING, 1 + 9 * first + second, text, first,
						text + first, second));
	}
	t = bench_end(&b);
	for (uint32_t i = 0; i < 18 * 9; i++) {
		const char *reported = trace_string(t, 1 + i);
		size_t bytes = i / 9 + i % 9;

		assert_int_equal(strlen(reported), bytes);
		assert_memory_equal(reported, text, bytes);
	}
	trace_close(t);
	free(session_my_ring); /* it belongs to a session that is gone */
	session_my_ring = NULL;
}

static void a_session_that_is_not_ours_is_refused(void **state)
{
	struct bench b;
	char where[128];

	(void)state;
	bench_start(&b, 1, false);
	session_leave();
	snprintf(where, sizeof(where), "%s0", recording_where(b.recording)); /* another token */
	assert_int_equal(session_join(where, 0), -1);
	assert_int_equal(session_join("", 0), -1);
	assert_int_equal(session_join(NULL, 0), -1);
	assert_int_equal(session_join("1.2.3.zz", 0), -1);
	assert_int_equal(session_join(recording_where(b.recording), 0), 0);
	session_leave();
	recording_end(b.recording, 0);
	assert_int_equal(session_join(recording_where(b.recording), 0), -1); /* it is over */
	recording_free(b.recording);
	close(b.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sixty_four_threads_lose_nothing_with_room),
		cmocka_unit_test(sixty_four_threads_add_up_without_room),
		cmocka_unit_test(overflow_keeps_the_newest),
		cmocka_unit_test(overflow_in_every_thread_adds_up),
		cmocka_unit_test(ring_mode_keeps_the_newest_of_a_long_run),
		cmocka_unit_test(threads_that_come_and_go_are_told_apart),
		cmocka_unit_test(definitions_survive_an_overflow),
		cmocka_unit_test(two_parts_make_one_definition),
		cmocka_unit_test(a_session_that_is_not_ours_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
