/* links: is_capture is_agent_core */
/*
 * Far more threads than there are entries and blocks, a few at a time, as in a
 * server with a thread for each request: every event is in the trace or counted
 * as lost, and nothing of a thread that is gone takes up room.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/core/session.h"
#include "capture/session/recording.h"
#include "format/trace.h"

enum { THREADS = SHM_MAX_THREADS + 1024, AT_ONCE = 16, EVENTS = 10, PROCESSES = 1200 };

struct figures {
	uint64_t stored, lost;
	size_t threads, processes, notes;
	off_t bytes;
};

static void *some_events(void *unused)
{
	struct ring *r = session_ring();

	(void)unused;
	for (uint32_t i = 0; r && i < EVENTS; i++)
		ring_push(r, RECORD_CALL, 1);
	return NULL;
}

static void come_and_go(struct recording *r)
{
	for (int done = 0; done < THREADS; done += AT_ONCE) {
		pthread_t threads[AT_ONCE];

		for (int i = 0; i < AT_ONCE; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, some_events, NULL), 0);
		for (int i = 0; i < AT_ONCE; i++)
			pthread_join(threads[i], NULL);
		recording_cycle(r);
	}
}

/* Processes that exit seal nothing. */
static void fork_and_go(struct recording *r)
{
	for (int i = 0; i < PROCESSES; i++) {
		pid_t pid = fork();

		if (!pid) {
			some_events(NULL);
			_exit(0);
		}
		assert_true(pid > 0);
		waitpid(pid, NULL, 0);
		recording_cycle(r);
	}
}

static struct figures count(int fd)
{
	struct figures f = { 0 };
	struct trace *t;
	struct stat st;
	struct err err;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(trace_open(&t, path, &err), 0);
	assert_null(trace_damage(t));
	f.threads = trace_thread_count(t);
	f.processes = trace_process_count(t);
	f.notes = trace_note_count(t);
	f.stored = trace_event_count(t);
	for (size_t i = 0; i < f.threads; i++)
		f.lost += trace_thread(t, i)->lost;
	trace_close(t);
	assert_int_equal(fstat(fd, &st), 0);
	f.bytes = st.st_size;
	return f;
}

static struct figures record(void (*workload)(struct recording *), bool keep_newest)
{
	struct recording_options options = { .buffer_bytes = 1u << 20, .keep_newest = keep_newest };
	int fd = memfd_create("trace", MFD_CLOEXEC);
	struct recording *r;
	struct figures f;
	struct err err;

	assert_int_equal(recording_new(&r, fd, &options, &err), 0);
	assert_int_equal(session_join(recording_where(r), 0), 0);
	workload(r);
	session_leave();
	recording_end(r, 0);
	assert_null(recording_trouble(r));
	recording_free(r);
	f = count(fd);
	close(fd);
	return f;
}

static void all_threads_are_in_the_trace(void **state)
{
	struct figures f = record(come_and_go, false);

	(void)state;
	assert_int_equal(f.threads, THREADS);
	assert_int_equal(f.stored, THREADS * EVENTS);
	assert_int_equal(f.lost, 0);
	assert_int_equal(f.notes, 0);
}

static void a_ring_keeps_the_newest_threads_and_counts_the_rest(void **state)
{
	struct figures f = record(come_and_go, true);

	(void)state;
	assert_int_equal(f.stored + f.lost, THREADS * EVENTS);
	assert_int_equal(f.notes, 0); /* one would say that threads found no entry */
	assert_in_range(f.stored, AT_ONCE * EVENTS, 32 * EVENTS); /* a block each, of 32 */
	assert_int_equal(f.threads, f.stored / EVENTS + 1);
	assert_in_range(f.bytes, 1, 16384);
}

static void a_ring_keeps_the_newest_processes_and_counts_the_rest(void **state)
{
	struct figures f = record(fork_and_go, true);

	(void)state;
	assert_int_equal(f.processes, PROCESSES + 1);
	assert_int_equal(f.stored + f.lost, PROCESSES * EVENTS);
	assert_int_equal(f.notes, 0);
	assert_in_range(f.stored, AT_ONCE * EVENTS, 32 * EVENTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_threads_are_in_the_trace),
		cmocka_unit_test(a_ring_keeps_the_newest_threads_and_counts_the_rest),
		cmocka_unit_test(a_ring_keeps_the_newest_processes_and_counts_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
