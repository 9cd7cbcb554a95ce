/* links: is_capture is_agent_core */
/* The agent's side of a recording where something is short: entries, files, the recorder itself. */
#include <errno.h>
#include <pthread.h>
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

static pthread_barrier_t barrier;

static void *first_event(void *ring)
{
	pthread_barrier_wait(&barrier);
	*(struct ring **)ring = session_ring();
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier); /* a ring ends with its thread: it has been looked at */
	return NULL;
}

/* The entries of this process, whatever their state. */
static unsigned entries_of(const struct session *s, uint32_t pid)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < s->header->processes; i++)
		n += atomic_load(&s->processes[i].state) == SHM_LIVE && s->processes[i].pid == pid;
	return n;
}

/* Both have a ring, and the process has one entry. */
static bool two_begin_at_once(void)
{
	const struct session *s = atomic_load(&session_current);
	struct ring *rings[2] = { NULL, NULL };
	pthread_t other;
	bool good;

	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&other, NULL, first_event, &rings[1]))
		return false;
	pthread_barrier_wait(&barrier);
	rings[0] = session_ring();
	pthread_barrier_wait(&barrier);
	good = rings[0] && rings[1] && entries_of(s, (uint32_t)getpid()) == 1 &&
	       s->threads[rings[0]->thread].process == s->threads[rings[1]->thread].process &&
	       atomic_load(&session_process()->state) == SHM_LIVE;
	pthread_barrier_wait(&barrier);
	pthread_join(other, NULL);
	return good;
}

/* Native programs: Python's children have had an event by the time that they have threads. */
static void two_threads_of_a_forked_child_begin_at_once(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		int status = -1;
		pid_t child = fork();

		if (!child)
			_exit(two_begin_at_once() ? 0 : 1);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
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
	s = session_map_delayed(recording_where(r));
	assert_non_null(s);
	memory = (char *)s->header;
	bytes = s->header->total_bytes;
	recording_free(r);
	session_unmap(s);
	assert_false(is_mapped(memory));
	assert_false(is_mapped(memory + bytes - 4096));
	close(fd);
}

static void *ring_until_told(void *unused)
{
	struct ring *r = session_ring();

	(void)unused;
	ring_push(r, RECORD_CALL, 1);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	ring_push(r, RECORD_RETURN, 1); /* it has not heard that the recording is left */
	return NULL;
}

/* Programs that start and stop recordings all day have room for them. */
static void blocks_go_with_the_last_ring(void **state)
{
	struct session *s = atomic_load(&session_current);
	char *last = (char *)s->header + s->bytes - 4096;
	pthread_t other;

	(void)state;
	assert_non_null(session_ring());
	pthread_barrier_init(&barrier, NULL, 2);
	assert_int_equal(pthread_create(&other, NULL, ring_until_told, NULL), 0);
	pthread_barrier_wait(&barrier);
	session_leave();
	assert_null(session_my_ring);
	assert_true(is_mapped(last));
	pthread_barrier_wait(&barrier);
	pthread_join(other, NULL);
	assert_false(is_mapped(last));
	assert_true(is_mapped(s->header)); /* for who has just loaded session_current */
	assert_int_equal(atomic_load(&s->rings), 0);
}

/* The recorder ended it, nobody here left it, and another one begins. */
static void blocks_go_when_another_recording_is_joined(void **state)
{
	struct session *s = atomic_load(&session_current);
	char *last = (char *)s->header + s->bytes - 4096;

	assert_non_null(session_ring());
	atomic_store(&s->header->active, SHM_OVER);
	recording_free(recording);
	close(trace_fd);
	assert_int_equal(join(state), 0);
	assert_true(is_mapped(last));
	assert_non_null(session_ring());
	assert_false(is_mapped(last));
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
						leave),
		cmocka_unit_test_setup_teardown(the_first_event_of_a_forked_child_keeps_errno, join,
						leave),
		cmocka_unit_test_setup_teardown(two_threads_of_a_forked_child_begin_at_once, join,
						leave),
		cmocka_unit_test(memory_that_the_recorder_has_emptied_is_given_back),
		cmocka_unit_test_setup_teardown(blocks_go_with_the_last_ring, join, leave),
		cmocka_unit_test_setup_teardown(blocks_go_when_another_recording_is_joined, join,
						leave),
		cmocka_unit_test_setup_teardown(a_ring_to_measure_with_touches_nothing_shared, join,
						leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
