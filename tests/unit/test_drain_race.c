/* links: is_capture */
/*
 * The drain against a process that rewrites the shared memory while it is read:
 * what was checked and what is used must be the same copy.  Two writers: one of
 * noise, one that knows the layout and changes sound blocks under the reader.
 * INFERSCOPE_RACE_MS makes it longer (make test-long), and so does a machine that gives the writers
 * no CPU: it is no race before they have run.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture/drain/drain.h"
#include "format/trace.h"

#define RACE_MS 400
#define ROUNDS 500u     /* of each writer, at least; 400 ms of a CPU are some ten thousand */
#define LATEST_S 60     /* a machine that is that busy says nothing */
#define NOISE_ROUND 512 /* words */

static uint64_t random_state;
static _Atomic uint64_t *rounds; /* of the writers, so far; in memory that they share with us */

static uint64_t random_word(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void write_noise(struct shm_owner *a, _Atomic uint64_t *made)
{
	_Atomic uint64_t *words = (_Atomic uint64_t *)(void *)a->header;
	size_t tables = (size_t)((char *)a->blocks - (char *)a->header) / 8;

	for (;; atomic_fetch_add(made, 1)) {
		for (int i = 0; i < NOISE_ROUND; i++) {
			size_t span = random_word() % 4 ? tables : a->bytes / 8;

			/* Small numbers pass more checks than large ones. */
			atomic_store_explicit(&words[random_word() % span],
					      random_word() >> random_word() % 64,
					      memory_order_relaxed);
		}
	}
}

/* Returns where the next one begins; now and then its length is a lie. */
static uint32_t put_record(struct shm_block *b, uint32_t at, uint64_t id)
{
	uint32_t payload = (uint32_t)(random_word() % 64);
	uint64_t decision_count = random_word() % 256 ? payload : random_word() % 65536;

	atomic_store_explicit(&b->words[at], random_word(), memory_order_relaxed);
	atomic_store_explicit(&b->words[at + 1],
			      id | (uint64_t)RECORD_MARK << 32 | decision_count << 48,
			      memory_order_relaxed);
	return at + record_bytes(payload) / 8;
}

/* Lengths, heads, owners and states of blocks that were sound a moment ago. */
static void write_changes(struct shm_owner *a, _Atomic uint64_t *made)
{
	for (uint64_t n = 1;; n++, atomic_fetch_add(made, 1)) {
		uint32_t block = (uint32_t)(random_word() % a->block_count);
		uint32_t slot = (uint32_t)(random_word() % 8);
		struct shm_block *b = &a->blocks[block];
		struct shm_thread *t = &a->threads[slot];

		a->processes[slot].pid = (uint32_t)getpid();
		atomic_store(&a->processes[slot].state, random_word() % 8 ? SHM_LIVE : SHM_ENDED);
		*(volatile uint32_t *)&t->process =
			random_word() % 2 ? slot : (uint32_t)random_word();
		atomic_store(&t->state, random_word() % 8 ? SHM_LIVE : SHM_ENDED);
		atomic_store(&t->name_set, 1);
		memset(t->name, (int)(random_word() % 256), sizeof(t->name));
		for (uint32_t at = 0; at + 16 < SHM_BLOCK_WORDS;)
			at = put_record(b, at, (uint32_t)n);
		atomic_store(&b->first_index, n * 400);
		atomic_store(&b->head, random_word() % 4 ? 32000u : (uint32_t)random_word());
		atomic_store(&a->block_state[block],
			     shm_block_state(random_word() % 2 ? SHM_BLOCK_FULL : SHM_BLOCK_WRITING,
					     random_word() % 4 ? 0 : SHM_BLOCK_DEFS,
					     (uint32_t)(random_word() % 10), n));
	}
}

typedef void (*writer)(struct shm_owner *a, _Atomic uint64_t *made);

static pid_t start(writer writes, struct shm_owner *a, _Atomic uint64_t *made)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	random_state = 88172645463325252ull + (unsigned)getpid();
	writes(a, made);
	_exit(1);
}

static void check_trace(int fd, struct drain_totals totals)
{
	uint64_t stored = 0, lost = 0;
	struct event_batch batch;
	struct trace *t;
	struct err err;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(trace_open(&t, path, &err), 0);
	assert_null(trace_damage(t));
	event_batch_init(&batch);
	for (size_t i = 0; i < trace_thread_count(t); i++) {
		for (size_t n = 0; n < trace_batch_count(t, i); n++) {
			assert_int_equal(trace_batch_read(t, i, n, &batch, &err), 0);
			stored += batch.count;
		}
		lost += trace_thread(t, i)->lost;
	}
	assert_int_equal(stored, totals.stored);
	assert_int_equal(lost, totals.lost);
	event_batch_release(&batch);
	trace_close(t);
}

static int64_t race_ns(void)
{
	const char *text = getenv("INFERSCOPE_RACE_MS");

	return 1000000 * (text ? (int64_t)strtol(text, NULL, 10) : RACE_MS);
}

/* Both writers have had their turns, and it took as long as was asked for. */
static bool is_raced(struct ticks *t, int64_t began_ns)
{
	int64_t took_ns = ticks_now_ns(t) - began_ns;

	return took_ns > LATEST_S * 1000000000ll ||
	       (took_ns > race_ns() && atomic_load(&rounds[0]) >= ROUNDS &&
		atomic_load(&rounds[1]) >= ROUNDS);
}

static void race(const writer writers[2], bool keep_newest)
{
	static struct ticks ticks;
	const struct trace_end end = { .wall_ns = 1 };
	int fd = memfd_create("trace", MFD_CLOEXEC);
	struct trace_writer *w;
	struct drain *d;
	struct shm_owner owner;
	struct err err;
	pid_t pids[2];
	int64_t began_ns;

	rounds = mmap(NULL, 2 * sizeof(*rounds), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	assert_ptr_not_equal(rounds, MAP_FAILED);
	assert_int_equal(shm_owner_init(&owner, 0, SHM_CLOCK_MONOTONIC, 0, &err), 0);
	ticks_init(&ticks, SHM_CLOCK_MONOTONIC, 0);
	assert_int_equal(trace_writer_new(&w, fd, &err), 0);
	assert_int_equal(drain_new(&d, &owner, &ticks, w, keep_newest, &err), 0);
	for (int i = 0; i < 2; i++)
		pids[i] = start(writers[i], &owner, &rounds[i]);
	for (began_ns = ticks_now_ns(&ticks); !is_raced(&ticks, began_ns);)
		assert_int_equal(drain_cycle(d, &err), 0);
	/* Still under fire: a process that is let go writes on. */
	assert_int_equal(drain_finish(d, &err), 0);
	for (int i = 0; i < 2; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	assert_int_equal(trace_write_end(w, &end, &err), 0);
	check_trace(fd, drain_totals(d));
	print_message("%llu events stored, %llu lost, %u damaged blocks, %u threads\n",
		      (unsigned long long)drain_totals(d).stored,
		      (unsigned long long)drain_totals(d).lost, drain_totals(d).damaged_blocks,
		      drain_totals(d).threads);
	/* It was a race; with a ring, what is there at the end may be all damaged. */
	assert_true(drain_totals(d).threads > 0 && drain_totals(d).damaged_blocks > 0);
	assert_true(keep_newest || drain_totals(d).stored > 0);
	drain_free(d);
	trace_writer_free(w);
	shm_owner_release(&owner);
	munmap((void *)rounds, 2 * sizeof(*rounds));
	close(fd);
}

static void test_changes_under_the_reader(void **state)
{
	(void)state;
	race((const writer[2]){ write_changes, write_changes }, false);
}

static void test_changes_and_noise(void **state)
{
	(void)state;
	race((const writer[2]){ write_changes, write_noise }, false);
}

static void test_changes_and_noise_with_a_ring(void **state)
{
	(void)state;
	race((const writer[2]){ write_changes, write_noise }, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes_under_the_reader),
		cmocka_unit_test(test_changes_and_noise),
		cmocka_unit_test(test_changes_and_noise_with_a_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
