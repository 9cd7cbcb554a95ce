/* links: is_capture is_agent_core */
/* The agent's side of a recording where something is short: entries, files, the recorder itself. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "joined.h"

static int join(void **state)
{
	const struct recording_options options = { .buffer_bytes = 4u << 20 };

	(void)state;
	join_with(&options);
	return 0;
}

/* Not at the end of the thread: its session is gone then. */
static int leave_ring(void **state)
{
	free(session_my_ring);
	session_my_ring = NULL;
	return leave(state);
}

static uint64_t homeless_events(void)
{
	return atomic_load(&session_process()->no_thread);
}

/* 4096 entries: to look through them takes longer than a hundred events. */
static void a_full_table_of_threads_is_seldom_searched(void **state)
{
	struct session *s = atomic_load(&session_current);
	unsigned tries = 0;

	(void)state;
	for (uint32_t i = 0; i < s->header->threads; i++)
		atomic_store(&s->threads[i].state, SHM_CLAIMED);
	assert_null(session_ring());
	atomic_store(&s->threads[7].state, SHM_UNUSED);
	assert_null(session_ring());
	while (!session_ring() && tries < 1000)
		tries++;
	assert_non_null(session_my_ring);
	assert_true(tries > 100);
	assert_int_equal(session_my_ring->thread, 7);
	assert_int_equal(homeless_events(), 2 + tries); /* all of them are in the report */
}

/* A program between a call that failed and its look at errno. */
static void the_first_event_of_a_forked_child_keeps_errno(void **state)
{
	int status = -1;
	pid_t child = fork();

	(void)state;
	if (!child) {
		const struct rlimit none = { 0, 0 };
		bool kept;

		setrlimit(RLIMIT_NOFILE, &none); /* the command line cannot be read */
		errno = ENOTTY;
		kept = session_ring() && errno == ENOTTY;
		_exit(kept ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static bool is_mapped(void *page)
{
	return !msync(page, 4096, MS_ASYNC);
}

/* An agent that waits for a recording (--delay) of a recorder that ends before. */
static void memory_that_the_recorder_has_emptied_is_given_back(void **state)
{
	const struct recording_options options = { .buffer_bytes = 4u << 20, .ahead = true };
	int fd = memfd_create("trace", MFD_CLOEXEC);
	struct recording *r;
	struct session *s;
	char *memory;
	size_t bytes;
	struct err err;

	(void)state;
	assert_int_equal(recording_new(&r, fd, &options, &err), 0);
	s = session_map_ahead(recording_where(r));
	assert_non_null(s);
	memory = (char *)s->header;
	bytes = s->header->total_bytes;
	recording_free(r);
	session_unmap(s);
	assert_false(is_mapped(memory));
	assert_false(is_mapped(memory + bytes - 4096));
	close(fd);
}

static uint64_t all_states(const struct session *s)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->header->blocks; i++)
		sum = sum * 31 + atomic_load(&s->block_state[i]);
	return sum;
}

/* A signal's handler may run while recording is calibrated, and call as much as it likes. */
static void a_ring_to_measure_with_touches_nothing_shared(void **state)
{
	struct session *s = atomic_load(&session_current);
	struct ring *own = session_ring(), *r = malloc(ring_bytes(s));
	struct shm_block *block = calloc(1, sizeof(*block));
	uint64_t before;

	(void)state;
	assert_non_null(own);
	assert_true(ring_define(own, DEF_STRING, 1, "own", 3, NULL, 0));
	ring_push(own, RECORD_CALL, 1);
	before = all_states(s);
	ring_init_alone(r, s, own->thread);
	r->events.block = block;
	r->events.head = 0;
	for (unsigned i = 0; i < SHM_BLOCK_WORDS; i++) /* twice what fits */
		ring_push(r, RECORD_CALL, 1);
	assert_false(ring_define(r, DEF_STRING, 2, "other", 5, NULL, 0));
	assert_int_equal(all_states(s), before);
	assert_int_equal(atomic_load(&s->threads[own->thread].produced), 0);
	free(block);
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_full_table_of_threads_is_seldom_searched, join,
						leave_ring),
		cmocka_unit_test_setup_teardown(the_first_event_of_a_forked_child_keeps_errno, join,
						leave_ring),
		cmocka_unit_test(memory_that_the_recorder_has_emptied_is_given_back),
		cmocka_unit_test_setup_teardown(a_ring_to_measure_with_touches_nothing_shared, join,
						leave_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
