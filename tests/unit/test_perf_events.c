/* links: is_capture */
/*
 * The kernel's samples of a thread in a known place, and its turns on the CPU.
 * Where the kernel does not permit it the tests are skipped.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture/native/perf_events.h"
#include "format/stamp.h"
#include "measures.h"
#include "patience.h"

#define HZ 1000u

static _Atomic int worker_tid;
static _Atomic int phase; /* 1: burn, 2: sleep, 3: end */
static volatile unsigned long sink;

/* All of its time goes here: nothing of it is in another function. */
__attribute__((noinline)) static void burn(void)
{
	while (atomic_load(&phase) == 1) {
		for (int i = 0; i < 1000; i++)
			sink = sink * 3 + 1;
	}
}

static void *work(void *arg)
{
	const struct timespec batch_sleep = { 0, 50000000 };

	(void)arg;
	atomic_store(&worker_tid, (int)syscall(SYS_gettid));
	while (!atomic_load(&phase))
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	burn();
	while (atomic_load(&phase) == 2)
		nanosleep(&batch_sleep, NULL);
	return NULL;
}

struct seen {
	unsigned samples, in_burn;
	unsigned offs, ons, preempted;
	int64_t first_ns, last_ns, off_since_ns, longest_off_ns;
};

static void on_sample(void *ctx, int64_t monotonic_ns, uint64_t address)
{
	struct seen *s = ctx;
	uint64_t begin = (uint64_t)(uintptr_t)&burn;

	if (!s->samples++)
		s->first_ns = monotonic_ns;
	assert_true(monotonic_ns >= s->last_ns);
	s->last_ns = monotonic_ns;
	s->in_burn += address >= begin && address < begin + 256;
}

static void on_turn(void *ctx, int64_t monotonic_ns, bool on, bool preempted)
{
	struct seen *s = ctx;

	if (!on) {
		s->offs++;
		s->preempted += preempted;
		s->off_since_ns = monotonic_ns;
		return;
	}
	s->ons++;
	if (s->off_since_ns && monotonic_ns - s->off_since_ns > s->longest_off_ns)
		s->longest_off_ns = monotonic_ns - s->off_since_ns;
}

static void read_for(struct perf_events *p, struct seen *s, int ms)
{
	const struct perf_visitor visitor = { s, on_sample, on_turn, NULL };

	for (int i = 0; i < ms; i += 10) {
		nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
		perf_events_read(p, &visitor);
	}
}

/* A worker and its events; false: not permitted. */
static bool begin(struct perf_events *p, pthread_t *thread)
{
	atomic_store(&worker_tid, 0);
	atomic_store(&phase, 0);
	assert_int_equal(pthread_create(thread, NULL, work, NULL), 0);
	while (!atomic_load(&worker_tid))
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	if (!perf_events_open(p, atomic_load(&worker_tid), HZ, true))
		return true;
	printf("skipped: perf_event_open: %s\n", strerror(errno));
	atomic_store(&phase, 3);
	pthread_join(*thread, NULL);
	return false;
}

static void test_samples_and_turns(void **state)
{
	struct perf_events p;
	struct seen s = { 0 };
	pthread_t thread;
	int64_t begin_ns;

	(void)state;
	if (!begin(&p, &thread)) {
		skip();
		return;
	}
	begin_ns = (int64_t)stamp_monotonic();
	atomic_store(&phase, 1);
	for (struct patience wait = { 0 }; !s.in_burn && patience_lasts(&wait);)
		read_for(&p, &s, 10);
	assert_true(s.in_burn > 0);
	assert_in_range(s.first_ns, begin_ns, (int64_t)stamp_monotonic());
	assert_in_range(s.last_ns, s.first_ns, (int64_t)stamp_monotonic());

	memset(&s, 0, sizeof(s));
	atomic_store(&phase, 2);
	for (struct patience wait = { 0 }; s.longest_off_ns < 49000000 && patience_lasts(&wait);)
		read_for(&p, &s, 10);
	assert_true(s.longest_off_ns >= 49000000); /* naps of 50 ms */
	assert_true(s.offs > s.preempted);
	atomic_store(&phase, 3);
	pthread_join(thread, NULL);
	read_for(&p, &s, 10); /* of a thread that is gone */
	perf_events_close(&p);
	perf_events_close(&p);
}

static void samples_come_at_the_rate_that_is_asked_for(void **state)
{
	struct perf_events p;
	struct seen s = { 0 };
	struct timespec cpu;
	clockid_t clock;
	pthread_t thread;
	int64_t used_ms;

	(void)state;
	if (!begin(&p, &thread)) {
		skip();
		return;
	}
	atomic_store(&phase, 1);
	read_for(&p, &s, 300);
	pthread_getcpuclockid(thread, &clock);
	clock_gettime(clock, &cpu);
	used_ms = (int64_t)cpu.tv_sec * 1000 + cpu.tv_nsec / 1000000;
	atomic_store(&phase, 3);
	pthread_join(thread, NULL);
	perf_events_close(&p);
	/* One for each millisecond of its CPU time, all in the one function. */
	assert_in_range(s.samples, used_ms * 8 / 10, used_ms * 12 / 10);
	assert_true(s.in_burn >= s.samples * 9 / 10);
}

static void what_a_sample_costs_is_measured(void **state)
{
	uint32_t ns = perf_events_cost_ns();

	(void)state;
	if (!ns) {
		printf("skipped: not permitted, or the machine is too busy to say\n");
		skip();
		return;
	}
	/* An interrupt, and not a time slice. */
	assert_in_range(ns, 200, 1000000);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples_and_turns),
	};
	const struct CMUnitTest measures[] = {
		cmocka_unit_test(samples_come_at_the_rate_that_is_asked_for),
		cmocka_unit_test(what_a_sample_costs_is_measured),
	};

	if (is_measuring(argc, argv))
		return cmocka_run_group_tests(measures, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
