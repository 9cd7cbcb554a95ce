/* links: is_capture is_agent_core */
/*
 * The drain against a workload that writes anything anywhere into the shared
 * memory: it must not crash, and the trace it leaves must be whole.
 */
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

#define ROUNDS 400

static uint64_t random_state = 88172645463325252ull;

static uint64_t random_word(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Values that break things more often than noise does. */
static uint64_t nasty_word(void)
{
	static const uint64_t nasty[] = {
		0,
		1,
		UINT64_MAX,
		INT64_MAX,
		1ull << 63,
		UINT32_MAX,
		1ull << 32,
		SHM_BLOCK_BYTES,
		SHM_BLOCK_FULL | 0xffffull << 3 | 1ull << 19,
		SHM_BLOCK_WRITING | 1ull << 19,
	};

	return random_word() % 3 ? nasty[random_word() % (sizeof(nasty) / sizeof(nasty[0]))]
				 : random_word();
}

static void scribble(_Atomic uint64_t *words, size_t count, unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		atomic_store_explicit(&words[random_word() % count], nasty_word(),
				      memory_order_relaxed);
}

static void scribble_everywhere(struct session *s)
{
	struct shm_header *h = s->header;

	scribble((void *)s->processes, 4 * sizeof(struct shm_process) / 8, 4);
	scribble((void *)s->threads, 4 * sizeof(struct shm_thread) / 8, 4);
	scribble(s->free_map, (h->blocks + 63) / 64, 1);
	scribble(s->block_state, h->blocks, 6);
	for (unsigned i = 0; i < 4; i++) {
		struct shm_block *b = &s->blocks[random_word() % h->blocks];

		scribble((void *)b, 8, 2); /* first_index and head */
		scribble(b->words, 64, 8); /* the first records */
		scribble(b->words, SHM_BLOCK_WORDS, 2);
	}
}

static void write_some_events(void)
{
	struct ring *r = session_ring();

	for (uint32_t i = 0; r && i < 3000; i++) {
		ring_push(r, RECORD_CALL, i);
		if (i % 500 == 0) {
			ring_define(r, DEF_STRING, i + 1, "name", 4, NULL, 0);
			ring_push_payload(r, RECORD_MARK, i + 1, "\0", 1);
		}
	}
}

static void open_and_read_all(int fd)
{
	struct event_batch batch;
	struct trace *t;
	struct err err;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(trace_open(&t, path, &err), 0);
	assert_null(trace_damage(t));
	event_batch_init(&batch);
	for (size_t i = 0; i < trace_thread_count(t); i++) {
		for (size_t n = 0; n < trace_batch_count(t, i); n++)
			assert_int_equal(trace_batch_read(t, i, n, &batch, &err), 0);
	}
	event_batch_release(&batch);
	trace_close(t);
}

static void scribbling_cannot_harm_the_recorder(void **state)
{
	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct recording_options options = { .buffer_bytes = 1u << 20,
						     .keep_newest = round % 4 == 3 };
		struct recording *r;
		struct err err;
		int fd = memfd_create("trace", MFD_CLOEXEC);

		assert_int_equal(recording_new(&r, fd, &options, &err), 0);
		assert_int_equal(session_join(recording_where(r), 0), 0);
		for (unsigned cycle = 0; cycle < 4; cycle++) {
			if (cycle < 2)
				write_some_events();
			scribble_everywhere(
				atomic_load_explicit(&session_current, memory_order_relaxed));
			recording_cycle(r);
		}
		/* The agent's own view may be broken now; the next round starts afresh. */
		free(session_my_ring);
		session_my_ring = NULL;
		session_leave();
		recording_end(r, 0);
		/* Nothing that a workload writes may end a recording. */
		assert_null(recording_trouble(r));
		open_and_read_all(fd);
		recording_free(r);
		close(fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scribbling_cannot_harm_the_recorder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
