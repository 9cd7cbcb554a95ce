/* links: is_capture is_agent_core */
/*
 * Reading through a window: the recorder's end and the agent's, in one process; and the
 * recorder's against an agent that lies.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/core/self_reader.h"
#include "capture/drain/shm_owner.h"
#include "capture/sampler/remote.h"
#include "format/stamp.h"

static struct shm_owner owner;
static struct windows windows;

static int set_up(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(shm_owner_init(&owner, 0, SHM_CLOCK_MONOTONIC, 0, &err), 0);
	assert_int_equal(session_join(owner.where, 0x030c0000), 0);
	windows_init(&windows, owner.windows);
	self_reader_start();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	self_reader_stop();
	session_leave();
	shm_owner_release(&owner);
	return 0;
}

static void batch_sleep(void)
{
	nanosleep(&(struct timespec){ 0, 100000 }, NULL);
}

static void wait_until_idle(struct window *w)
{
	while (!window_is_idle(w))
		batch_sleep();
}

/* On a busy machine an answer may take longer than the sampler waits: then it comes later. */
static int copy_patiently(const struct remote_memory *m, void *to, uint64_t from, size_t bytes)
{
	int rc;

	do {
		wait_until_idle(m->window);
		rc = remote_copy(m, to, from, bytes);
	} while (rc && errno == ETIMEDOUT);
	return rc;
}

/* As the sampler does it; the agent hears of it at an event. */
static struct window *lend(void)
{
	struct window *w = window_open(&windows, session_process(), getpid(), 1);

	assert_non_null(w);
	windows_notify(&windows, owner.header);
	assert_non_null(session_on());
	wait_until_idle(w);
	windows_notify(&windows, owner.header);
	return w;
}

static void nobody_reads_before_the_first_question(void **state)
{
	(void)state;
	assert_int_equal(atomic_load(&session_process()->window), 0);
	assert_int_equal(atomic_load(&owner.header->active), SHM_ON);
}

static void the_agent_hears_at_its_next_event_and_never_again(void **state)
{
	struct window *w = window_open(&windows, session_process(), getpid(), 1);

	(void)state;
	windows_notify(&windows, owner.header);
	assert_int_equal(atomic_load(&owner.header->active), SHM_ASKING);
	assert_non_null(session_on());
	wait_until_idle(w);
	windows_notify(&windows, owner.header);
	assert_int_equal(atomic_load(&owner.header->active), SHM_ON);
	window_close(w);
}

static void a_recording_that_is_over_stays_so(void **state)
{
	struct window *w = window_open(&windows, session_process(), getpid(), 1);

	(void)state;
	atomic_store(&owner.header->active, SHM_OVER);
	windows_notify(&windows, owner.header);
	assert_int_equal(atomic_load(&owner.header->active), SHM_OVER);
	assert_null(session_on());
	window_close(w);
	atomic_store(&owner.header->active, SHM_ON);
}

/* An entry that was another process' when it was told of the window. */
static void a_window_of_another_process_is_not_answered(void **state)
{
	struct window *w = window_open(&windows, session_process(), getpid() + 1, 1);

	(void)state;
	windows_notify(&windows, owner.header);
	assert_non_null(session_on());
	for (int i = 0; i < 100; i++)
		batch_sleep();
	assert_false(window_is_idle(w));
	window_close(w);
	w = lend();
	window_close(w);
}

/* More than fits a window, in pieces of all sizes. */
static void all_of_it_is_read(void **state)
{
	enum { BYTES = 600000 };
	struct remote_memory memory = { getpid(), lend() };
	struct remote *r = calloc(1, sizeof(*r));
	uint8_t *from = malloc(BYTES), *to = malloc(BYTES);
	size_t at = 0, bytes = 0;

	(void)state;
	for (size_t i = 0; i < BYTES; i++)
		from[i] = (uint8_t)(i * 2654435761u >> 13);
	for (unsigned i = 0;
	     at + bytes < BYTES && remote_add(r, to + at, (uintptr_t)from + at, bytes); i++) {
		at += bytes;
		bytes = i * i % 1021;
	}
	assert_true(r->count > 2 * SHM_WINDOW_PIECES - 100 &&
		    r->bytes > (size_t)3 * SHM_WINDOW_BYTES);
	do
		wait_until_idle(memory.window);
	while (remote_read(r, &memory) && errno == ETIMEDOUT);
	assert_memory_equal(to, from, r->bytes);
	assert_int_equal(copy_patiently(&memory, to, (uintptr_t)from, SHM_WINDOW_BYTES), 0);
	assert_int_equal(copy_patiently(&memory, to, (uintptr_t)from, SHM_WINDOW_BYTES + 1), -1);
	assert_int_equal(errno, EFAULT);
	window_close(memory.window);
	free(from);
	free(to);
	free(r);
}

static void what_is_not_there_is_an_error(void **state)
{
	struct remote_memory memory = { getpid(), lend() };
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char copy[16];

	(void)state;
	munmap(page + 4096, 4096);
	assert_int_equal(copy_patiently(&memory, copy, (uintptr_t)page + 4090, 16), -1);
	assert_int_equal(errno, EFAULT);
	assert_int_equal(copy_patiently(&memory, copy, 0, 16), -1);
	assert_int_equal(errno, EFAULT);
	assert_int_equal(copy_patiently(&memory, copy, UINT64_MAX - 4, 16), -1);
	memcpy(page, "sixteen letters", 16);
	assert_int_equal(copy_patiently(&memory, copy, (uintptr_t)page, 16), 0);
	assert_string_equal(copy, "sixteen letters");
	munmap(page, 4096);
	window_close(memory.window);
}

static void it_says_when_that_was_and_what_it_cost(void **state)
{
	struct remote_memory memory = { getpid(), lend() };
	int64_t before_ns = (int64_t)stamp_monotonic();
	uint64_t cost_ns = memory.window->cpu_ns;
	char copy[4];

	(void)state;
	assert_int_equal(copy_patiently(&memory, copy, (uintptr_t) "abc", 4), 0);
	assert_true(memory.window->read_ns >= before_ns);
	assert_true(memory.window->read_ns <= (int64_t)stamp_monotonic());
	assert_true(memory.window->cpu_ns > cost_ns);
	assert_true(atomic_load(&session_process()->overhead_ns) >= memory.window->cpu_ns);
	window_close(memory.window);
}

/* The thread is gone around a fork, and a question waits for it. */
static void a_question_during_a_pause_is_answered_after_it(void **state)
{
	struct remote_memory memory = { getpid(), lend() };
	char copy[4] = "";

	(void)state;
	self_reader_pause();
	self_reader_pause();
	assert_non_null(session_on());
	assert_int_equal(remote_copy(&memory, copy, (uintptr_t) "abc", 4), -1);
	assert_int_equal(errno, ETIMEDOUT);
	assert_false(window_is_idle(memory.window));
	assert_int_equal(remote_copy(&memory, copy, (uintptr_t) "abc", 4), -1);
	assert_int_equal(errno, ETIMEDOUT); /* at once: the window is the agent's */
	self_reader_resume();
	self_reader_resume();
	wait_until_idle(memory.window);
	assert_string_equal(copy, "");
	assert_int_equal(copy_patiently(&memory, copy, (uintptr_t) "def", 4), 0);
	assert_string_equal(copy, "def");
	window_close(memory.window);
}

static void pauses_between_questions_lose_none(void **state)
{
	struct remote_memory memory = { getpid(), lend() };
	char copy[4];

	(void)state;
	for (int i = 0; i < 200; i++) {
		assert_int_equal(copy_patiently(&memory, copy, (uintptr_t) "abc", 4), 0);
		self_reader_pause();
		self_reader_resume();
	}
	window_close(memory.window);
}

static void *pause_and_resume(void *stop)
{
	while (!atomic_load((_Atomic bool *)stop)) {
		self_reader_pause();
		self_reader_resume();
	}
	return NULL;
}

static void pauses_at_any_moment(void **state)
{
	struct remote_memory memory = { getpid(), lend() };
	_Atomic bool stop = false;
	pthread_t thread;
	char copy[4];

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, pause_and_resume, &stop), 0);
	for (int i = 0; i < 100; i++) {
		wait_until_idle(memory.window);
		memset(copy, 0, sizeof(copy));
		if (!remote_copy(&memory, copy, (uintptr_t) "abc", 4))
			assert_string_equal(copy, "abc");
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	window_close(memory.window);
}

static void windows_are_lent_once(void **state)
{
	struct shm_process entries[SHM_MAX_WINDOWS] = { 0 };
	struct window *lent[SHM_MAX_WINDOWS];

	(void)state;
	for (uint32_t i = 0; i < SHM_MAX_WINDOWS; i++) {
		lent[i] = window_open(&windows, &entries[i], 1, 1);
		assert_non_null(lent[i]);
		assert_int_equal((atomic_load(&entries[i].window) - 1) % SHM_MAX_WINDOWS, i);
	}
	assert_null(window_open(&windows, &entries[0], 1, 1));
	window_close(lent[7]);
	assert_ptr_equal(window_open(&windows, &entries[0], 1, 1), lent[7]);
	for (uint32_t i = 0; i < SHM_MAX_WINDOWS; i++)
		window_close(lent[i]);
}

static void it_looks_less_often_where_that_costs_much(void **state)
{
	struct shm_process entry = { 0 };
	struct window *w = window_open(&windows, &entry, 1, 0.01);
	int rounds[2] = { 0, 0 };

	(void)state;
	for (int64_t ms = 1; ms <= 20000; ms++) {
		if (!window_due(w, ms * 1000000))
			continue;
		rounds[ms > 10000]++;
		/* A twentieth of a percent at first, then five percent of the asked rate's time. */
		w->cpu_ns += ms > 10000 ? 250000 : 2500;
	}
	/* Never more than asked for; a fifth of that at five times what is allowed. */
	assert_in_range(rounds[0], 9 * WINDOW_HZ, 10 * WINDOW_HZ + 1);
	assert_in_range(rounds[1], 10 * WINDOW_HZ / 5 * 7 / 10, 10 * WINDOW_HZ / 5 * 14 / 10);
	window_close(w);
}

/* --- an agent that lies --- */

struct liar {
	struct shm_window *window;
	_Atomic bool stop;
};

/* Bytes, errors and times are noise; numbers that were not asked for are answered, too. */
static void *lie(void *argument)
{
	struct liar *l = argument;
	uint64_t random = 88172645463325252ull;

	while (!atomic_load(&l->stop)) {
		struct shm_window *w = l->window;
		uint32_t asked = atomic_load_explicit(&w->asked, memory_order_acquire);

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		if (asked == atomic_load_explicit(&w->answered, memory_order_relaxed))
			continue;
		memset(w->data, (int)random, sizeof(w->data));
		w->count = (uint32_t)random;
		memset(w->pieces, 0xff, sizeof(w->pieces));
		w->error = random % 3 ? 0 : (int32_t)(random >> 32);
		w->read_ns = random;
		w->cpu_ns = random % 5 ? random : 0;
		if (random % 7 == 0)
			atomic_store_explicit(&w->answered, (uint32_t)random, memory_order_release);
		atomic_store_explicit(&w->answered, asked, memory_order_release);
	}
	return NULL;
}

static void a_liar_harms_nobody(void **state)
{
	struct shm_process entry = { 0 };
	struct remote_memory memory = { getpid(), window_open(&windows, &entry, 1, 0.01) };
	struct liar liar = { memory.window->shared, false };
	uint8_t copy[1002];
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, lie, &liar), 0);
	for (int i = 0; i < 300; i++) {
		int64_t now_ns = (int64_t)stamp_monotonic();

		copy[0] = copy[1001] = 0xa5;
		wait_until_idle(memory.window);
		if (!remote_copy(&memory, copy + 1, 4096, 1000))
			assert_in_range(memory.window->read_ns, now_ns, (int64_t)stamp_monotonic());
		assert_true(copy[0] == 0xa5 && copy[1001] == 0xa5);
		window_due(memory.window, now_ns);
		assert_in_range(memory.window->period_ns, 1000000000 / WINDOW_HZ, 100000000);
	}
	atomic_store(&liar.stop, true);
	pthread_join(thread, NULL);
	window_close(memory.window);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nobody_reads_before_the_first_question),
		TEST(the_agent_hears_at_its_next_event_and_never_again),
		TEST(a_recording_that_is_over_stays_so),
		TEST(a_window_of_another_process_is_not_answered),
		TEST(all_of_it_is_read),
		TEST(what_is_not_there_is_an_error),
		TEST(it_says_when_that_was_and_what_it_cost),
		TEST(a_question_during_a_pause_is_answered_after_it),
		TEST(pauses_between_questions_lose_none),
		TEST(pauses_at_any_moment),
		TEST(windows_are_lent_once),
		TEST(it_looks_less_often_where_that_costs_much),
		TEST(a_liar_harms_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
