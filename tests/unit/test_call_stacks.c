/* links: is_capture is_agent_core */
/*
 * Stacks of many threads at once, through the recorder into a trace: every id
 * that a thread was given stands there for exactly the frames it had.  Frames
 * and code objects are made up here; agent/python/frames.c reads real ones.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/core/intern.h"
#include "agent/python/call_stacks.h"
#include "agent/python/codes.h"
#include "agent/python/frames.h"
#include "capture/session/recording.h"
#include "format/trace.h"

#define THREADS 4u
#define CODES 50u
#define FIRST_CODE_ID 1000000u
#define STACKS 3000u /* of each thread; half of them are its neighbour's too */

struct pyapi py;

static struct code_note notes[CODES];
static const uint8_t line_table[] = { 1, 2, 3, 4 };
static __thread struct frame_ref now[FRAMES_MAX];
static __thread size_t now_count;

size_t frames_read(struct frame_ref out[FRAMES_MAX])
{
	memcpy(out, now, now_count * sizeof(now[0]));
	return now_count;
}

uint64_t frames_fingerprint(struct frames_path *last)
{
	uint64_t hash = now_count;

	(void)last;
	for (size_t i = 0; i < now_count; i++)
		hash = intern_mix(hash,
				  (uint64_t)(uintptr_t)now[i].code ^ (uint64_t)now[i].offset << 43);
	return hash;
}

const uint8_t *frames_line_table(const void *code, uint32_t *bytes)
{
	(void)code;
	*bytes = sizeof(line_table);
	return line_table;
}

_Atomic uint64_t codes_freed;

struct code_note *codes_lookup(const void *code)
{
	return code ? (struct code_note *)(uintptr_t)code : NULL;
}

/* Puts the calling thread into stack number n: its depth, functions and instructions. */
static void enter_stack(uint32_t n)
{
	now_count = 1 + n % FRAMES_MAX;
	for (uint32_t i = 0; i < now_count; i++) {
		bool unknown = (n + i) % 17 == 0;

		now[i].code = unknown ? NULL : &notes[(n * 7 + i) % CODES];
		now[i].offset = n * 2 + i;
	}
}

/*
 * The id of each stack, and the one it has when asked again: another thread that
 * saw it at the same moment may have been faster to make its own known.
 */
static uint32_t given[THREADS][STACKS], again[THREADS][STACKS];
static uint32_t without_frames[THREADS];

static void *see_stacks(void *arg)
{
	uint32_t thread = *(const uint32_t *)arg;

	for (uint32_t i = 0; i < STACKS; i++) {
		struct ring *r = session_ring();

		enter_stack(thread * STACKS / 2 + i);
		given[thread][i] = stacks_current(r);
		again[thread][i] = stacks_current(r);
	}
	now_count = 0;
	without_frames[thread] = stacks_current(session_ring());
	return NULL;
}

static void assert_stack_is(const struct trace *t, uint32_t id, uint32_t n)
{
	const struct trace_frame *frames;
	size_t count = 0;

	enter_stack(n);
	frames = trace_stack(t, id, &count);
	assert_non_null(frames);
	assert_int_equal(count, now_count);
	for (size_t i = 0; i < count; i++) {
		const struct code_note *note = now[i].code;

		assert_int_equal(frames[i].code, note ? note->id : 0);
		assert_int_equal(frames[i].offset, now[i].offset);
	}
}

static struct trace *record_stacks(void)
{
	struct recording_options options = { .buffer_bytes = 64u << 20 };
	uint32_t numbers[THREADS];
	struct recording *recording;
	pthread_t ids[THREADS];
	struct trace *t = NULL;
	struct err err;
	char path[64];
	int fd = memfd_create("trace", MFD_CLOEXEC);

	assert_int_equal(recording_new(&recording, fd, &options, &err), 0);
	assert_int_equal(session_join(recording_where(recording), 0), 0);
	py.version = 0x030c0000;
	for (uint32_t i = 0; i < CODES; i++) {
		notes[i].code = (PyObject *)&notes[i];
		notes[i].id = FIRST_CODE_ID + i;
		notes[i].epoch = session_epoch;
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		numbers[i] = i;
		assert_int_equal(pthread_create(&ids[i], NULL, see_stacks, &numbers[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
	session_leave();
	recording_end(recording, 0);
	assert_null(recording_trouble(recording));
	recording_free(recording);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(trace_open(&t, path, &err), 0);
	close(fd);
	return t;
}

static void check_stacks(const struct trace *t)
{
	for (uint32_t thread = 0; thread < THREADS; thread++) {
		for (uint32_t i = 0; i < STACKS; i++) {
			assert_stack_is(t, given[thread][i], thread * STACKS / 2 + i);
			assert_stack_is(t, again[thread][i], thread * STACKS / 2 + i);
		}
		assert_int_equal(without_frames[thread], 0);
	}
}

static void test_every_id_stands_for_the_frames_it_was_given_for(void **state)
{
	struct trace *t = record_stacks();

	(void)state;
	check_stacks(t);
	for (uint32_t i = 0; i < CODES; i++) {
		const struct trace_lines *lines = trace_lines(t, FIRST_CODE_ID + i);

		assert_non_null(lines);
		assert_int_equal(lines->python_minor, 12);
		assert_int_equal(lines->bytes, sizeof(line_table));
		assert_memory_equal(lines->table, line_table, sizeof(line_table));
	}
	trace_close(t);
}

/* Ids and line tables of the first recording mean nothing in the second. */
static void test_another_recording_has_its_own(void **state)
{
	struct trace *t = record_stacks();

	(void)state;
	check_stacks(t);
	assert_non_null(trace_lines(t, FIRST_CODE_ID));
	trace_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_id_stands_for_the_frames_it_was_given_for),
		cmocka_unit_test(test_another_recording_has_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
