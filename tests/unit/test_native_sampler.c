/* links: is_capture */
/*
 * The kernel's samples of a child process: its functions by name, threads that
 * come and go, its end.  Where the kernel does not permit it the test is skipped.
 * How much is sampled depends on how busy the machine is: those tests measure.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/varint.h"
#include "capture/native/elf_symbols.h"
#include "capture/native/native_sampler.h"
#include "format/record.h"
#include "format/stamp.h"
#include "measures.h"
#include "patience.h"

#define IDS 4096u
#define WHATEVER_IT_COSTS 1000000u
#define FIVE_PERCENT 50000u
#define PROCESS 7u

static volatile unsigned long sink;

/* What the child does, in a function and in a thread of its own. */
__attribute__((noinline)) static void burn_in_child(void)
{
	for (;;)
		sink = sink * 3 + 1;
}

__attribute__((noinline)) static void *burn_in_thread(void *arg)
{
	(void)arg;
	for (;;)
		sink = sink * 5 + 1;
	return NULL;
}

static pid_t start_child(void)
{
	pid_t child = fork();

	if (child == 0) {
		pthread_t thread;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pthread_create(&thread, NULL, burn_in_thread, NULL);
		burn_in_child();
	}
	assert_true(child > 0);
	return child;
}

/* All that was sampled and defined. */
struct seen {
	uint32_t next_id;
	unsigned samples, by_place[IDS];
	char strings[IDS][256];
	uint32_t symbols[IDS], libraries[IDS];
	pid_t tids[2];
	unsigned tid_count;
	unsigned waits; /* absences that are none of a busy machine's */
	int64_t waited_ns;
	uint64_t turns, interrupts;
};

static uint32_t next_id(void *ctx)
{
	struct seen *s = ctx;

	assert_true(s->next_id + 1 < IDS);
	return ++s->next_id;
}

static int define(void *ctx, uint8_t kind, uint32_t id, const void *payload, size_t bytes)
{
	struct seen *s = ctx;
	const uint8_t *p = payload, *end = p + bytes;
	uint64_t value = 0;

	assert_in_range(id, 1, s->next_id);
	if (kind == DEF_STRING) {
		snprintf(s->strings[id], sizeof(s->strings[id]), "%.*s", (int)bytes,
			 (const char *)payload);
		return 0;
	}
	assert_int_equal(kind, DEF_NATIVE);
	p = varint_get(p, end, &value);
	if (!p)
		return -1;
	s->symbols[id] = (uint32_t)value;
	p = varint_get(p, end, &value);
	assert_ptr_equal(p, end);
	s->libraries[id] = (uint32_t)value;
	return 0;
}

static int count(void *ctx, const struct native_sample *sample)
{
	struct seen *s = ctx;
	unsigned i = 0;

	assert_int_equal(sample->process, PROCESS);
	s->samples++;
	s->by_place[sample->place]++;
	while (i < s->tid_count && s->tids[i] != sample->tid)
		i++;
	if (i == s->tid_count) {
		assert_true(i < 2);
		s->tids[s->tid_count++] = sample->tid;
	}
	return 0;
}

static int leave(void *ctx, const struct native_absence *a)
{
	struct seen *s = ctx;

	assert_int_equal(a->process, PROCESS);
	assert_true(a->end_ns - a->start_ns >= 1000000);
	if (!a->preempted) {
		s->waits++;
		s->waited_ns += a->end_ns - a->start_ns;
	}
	return 0;
}

static void count_turns(void *ctx, uint32_t process, uint64_t turns)
{
	assert_int_equal(process, PROCESS);
	((struct seen *)ctx)->turns += turns;
}

static void count_interrupts(void *ctx, uint32_t process, uint64_t interrupts)
{
	assert_int_equal(process, PROCESS);
	((struct seen *)ctx)->interrupts += interrupts;
}

static unsigned samples_in(const struct seen *s, const char *symbol)
{
	unsigned n = 0;

	for (uint32_t id = 1; id <= s->next_id; id++) {
		if (s->by_place[id] && !strcmp(s->strings[s->symbols[id]], symbol))
			n += s->by_place[id];
	}
	return n;
}

static bool are_both_seen(const struct seen *s)
{
	if (!elf_symbols_supported())
		return s->tid_count == 2;
	return samples_in(s, "burn_in_child") && samples_in(s, "burn_in_thread");
}

/* Watches until both threads were sampled in their functions. */
static void test_functions_of_a_child(void **state)
{
	struct seen *s = calloc(1, sizeof(*s));
	const struct native_reader reader = {
		s, count, leave, NULL, count_turns, count_interrupts
	};
	const struct native_definitions definitions = { s, next_id, define };
	struct native *n = native_new(WHATEVER_IT_COSTS, false);
	pid_t child = start_child();

	(void)state;
	for (struct patience p = { 0 };
	     !native_refused(n) && !are_both_seen(s) && patience_lasts(&p);) {
		native_sampler_add(n, PROCESS, child);
		assert_int_equal(native_read(n, (int64_t)stamp_monotonic(), &reader, &definitions),
				 0);
		assert_int_equal(native_define(n, &definitions), 0);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	if (native_refused(n)) {
		printf("skipped: perf_event_open: %s\n", strerror(native_refused(n)));
		native_free(n);
		free(s);
		skip();
		return;
	}
	native_forget(n, PROCESS);
	native_sampler_add(n, PROCESS, child); /* it is gone: nothing to watch */
	assert_int_equal(native_read(n, (int64_t)stamp_monotonic(), &reader, &definitions), 0);
	/* The process is dead by now: what is needed of it was kept. */
	assert_int_equal(native_define(n, &definitions), 0);
	assert_true(are_both_seen(s));
	assert_int_equal(s->tid_count, 2);
	native_free(n);
	free(s);
}

static void most_samples_are_in_the_functions_that_burn(void **state)
{
	struct seen *s = calloc(1, sizeof(*s));
	const struct native_reader reader = {
		s, count, leave, NULL, count_turns, count_interrupts
	};
	const struct native_definitions definitions = { s, next_id, define };
	struct native *n = native_new(WHATEVER_IT_COSTS, false);
	pid_t child = start_child();
	unsigned in_child, in_thread;

	(void)state;
	for (int i = 0; i < 50 && !native_refused(n); i++) {
		native_sampler_add(n, PROCESS, child);
		nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
		assert_int_equal(native_read(n, (int64_t)stamp_monotonic(), &reader, &definitions),
				 0);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	if (native_refused(n) || !elf_symbols_supported())
		skip();
	assert_int_equal(native_define(n, &definitions), 0);
	in_child = samples_in(s, "burn_in_child");
	in_thread = samples_in(s, "burn_in_thread");
	assert_true(in_child > 10 && in_thread > 10);
	assert_true(in_child + in_thread >= s->samples * 9 / 10);
	assert_int_equal(native_lost(n), 0);
	native_free(n);
	free(s);
}

/* Naps of 20 ms, and then so many of 20 us that telling each would be too much. */
static pid_t start_sleeper(bool restless)
{
	const struct timespec batch_sleep = { 0, restless ? 20000 : 20000000 };
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			nanosleep(&batch_sleep, NULL);
	}
	assert_true(child > 0);
	return child;
}

/* Until it was seen to wait so many times, or for so long. */
static void watch_for(struct native *n, pid_t child, struct seen *s, int ms, unsigned waits)
{
	const struct native_reader reader = {
		s, count, leave, NULL, count_turns, count_interrupts
	};
	const struct native_definitions definitions = { s, next_id, define };

	for (int i = 0; i < ms && s->waits < waits && !native_refused(n); i += 50) {
		native_sampler_add(n, PROCESS, child);
		nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
		assert_int_equal(native_read(n, (int64_t)stamp_monotonic(), &reader, &definitions),
				 0);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	native_forget(n, PROCESS);
	assert_int_equal(native_read(n, (int64_t)stamp_monotonic(), &reader, &definitions), 0);
}

static void test_times_without_a_cpu(void **state)
{
	struct seen *s = calloc(1, sizeof(*s));
	struct native *n = native_new(WHATEVER_IT_COSTS, false);
	int64_t begin_ns = (int64_t)stamp_monotonic(), elapsed_ns;

	(void)state;
	watch_for(n, start_sleeper(false), s, PATIENCE_MS, 5);
	if (native_refused(n)) {
		printf("skipped: perf_event_open: %s\n", strerror(native_refused(n)));
		native_free(n);
		free(s);
		skip();
		return;
	}
	/* It sleeps all the time, in pieces of 20 ms; the last one is cut off by its end. */
	elapsed_ns = (int64_t)stamp_monotonic() - begin_ns;
	assert_in_range(s->waits, 5, elapsed_ns / 20000000 + 1);
	assert_in_range(s->waited_ns, (int64_t)(s->waits - 1) * 20000000, elapsed_ns);
	native_free(n);
	free(s);
}

static void nothing_is_lost_of_who_changes_often(void **state)
{
	struct seen *s = calloc(1, sizeof(*s));
	struct native *n = native_new(WHATEVER_IT_COSTS, false);

	(void)state;
	watch_for(n, start_sleeper(true), s, 300, UINT_MAX);
	if (native_refused(n))
		skip();
	assert_int_equal(native_lost(n), 0);
	native_free(n);
	free(s);
}

static uint64_t switches_of(pid_t child)
{
	char path[64], line[256];
	uint64_t sum = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", child);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (strstr(line, "_ctxt_switches:"))
			sum += strtoull(strchr(line, ':') + 1, NULL, 10);
	}
	if (f)
		fclose(f);
	return sum;
}

/* How many of the times that the child lost or got a CPU are told, watched as in a recording. */
static double turns_told(bool restless, bool *refused)
{
	struct seen *s = calloc(1, sizeof(*s));
	const struct native_reader reader = {
		s, count, leave, NULL, count_turns, count_interrupts
	};
	const struct native_definitions definitions = { s, next_id, define };
	struct native *n = native_new(FIVE_PERCENT, false);
	pid_t child = start_sleeper(restless);
	uint64_t had;
	double reported;

	for (int i = 0; i < 20; i++) {
		native_sampler_add(n, PROCESS, child);
		assert_int_equal(native_read(n, (int64_t)stamp_monotonic(), &reader, &definitions),
				 0);
		nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
	}
	had = 2 * switches_of(child);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	reported = had ? (double)s->turns / (double)had : 0;
	*refused = native_refused(n) != 0;
	native_free(n);
	free(s);
	return reported;
}

/* A thread that is watched takes longer to lose and get a CPU. */
static void who_changes_often_is_watched_a_part_of_the_time(void **state)
{
	bool refused;
	double calm = turns_told(false, &refused);
	double restless = turns_told(true, &refused);

	(void)state;
	if (refused)
		skip();
	assert_true(calm > 0.5);
	assert_true(restless > 0 && restless < 0.3);
}

/* Its time is the kernel's, where no sample is taken. */
static pid_t start_reader(void)
{
	pid_t child = fork();

	if (child == 0) {
		int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
		static char page[1 << 20];

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (read(zeros, page, sizeof(page)) > 0)
			;
		_exit(1);
	}
	assert_true(child > 0);
	return child;
}

/* CPU time of all children that have been waited for. */
static uint64_t used_by_children_ms(void)
{
	struct rusage used;

	getrusage(RUSAGE_CHILDREN, &used);
	return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
	       (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
}

static void interrupts_count_where_the_kernel_is_at_work(void **state)
{
	struct seen *s = calloc(1, sizeof(*s));
	struct native *n = native_new(WHATEVER_IT_COSTS, false);
	uint64_t before_ms = used_by_children_ms(), due;

	(void)state;
	watch_for(n, start_reader(), s, 500, UINT_MAX);
	due = (used_by_children_ms() - before_ms) * native_hz(n) / 1000;
	if (native_refused(n))
		skip();
	/* Its beginning and its end are not watched. */
	assert_in_range(s->interrupts, due / 2, due + 1);
	assert_true(s->samples < due / 4);
	native_free(n);
	free(s);
}

struct faults {
	uint64_t minor, major;
	int64_t last_ns;
};

static int take_fault(void *ctx, const struct native_fault *f)
{
	struct faults *all = ctx;

	assert_int_equal(f->at.process, PROCESS);
	assert_true(f->at.monotonic_ns >= all->last_ns);
	all->last_ns = f->at.monotonic_ns;
	*(f->major ? &all->major : &all->minor) += f->count;
	return 0;
}

static int ignore_sample(void *ctx, const struct native_sample *s)
{
	(void)ctx;
	(void)s;
	return 0;
}

static void ignore_turns(void *ctx, uint32_t process, uint64_t turns)
{
	(void)ctx;
	(void)process;
	(void)turns;
}

static int ignore_absence(void *ctx, const struct native_absence *a)
{
	(void)ctx;
	(void)a;
	return 0;
}

/* Touches the same memory again and again, some 25 pages in a millisecond; tells how many. */
static pid_t start_toucher(_Atomic uint64_t *touched)
{
	const size_t bytes = 25ul * 4096;
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			volatile char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
						     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			for (size_t at = 0; at < bytes; at += 4096)
				memory[at] = 1;
			munmap((void *)memory, bytes);
			atomic_fetch_add(touched, bytes / 4096);
			nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
		}
	}
	assert_true(child > 0);
	return child;
}

/* In one of eight readings. */
static void page_faults_are_told_an_eighth_of_the_time(void **state)
{
	_Atomic uint64_t *touched =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct native *n = native_new(WHATEVER_IT_COSTS, true);
	pid_t child = start_toucher(touched);
	struct faults all = { 0 };
	struct seen *s = calloc(1, sizeof(*s));
	const struct native_reader reader = { &all,       ignore_sample, ignore_absence,
					      take_fault, ignore_turns,  ignore_turns };
	const struct native_definitions definitions = { s, next_id, define };

	(void)state;
	for (int i = 0; i < 40; i++) {
		native_sampler_add(n, PROCESS, child);
		nanosleep(&(struct timespec){ 0, 25000000 }, NULL);
		assert_int_equal(native_read(n, (int64_t)stamp_monotonic(), &reader, &definitions),
				 0);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	if (native_refused(n)) {
		printf("skipped: perf_event_open: %s\n", strerror(native_refused(n)));
	} else {
		assert_in_range(all.minor, *touched / 16, *touched / 4);
		assert_int_equal(all.major, 0);
	}
	native_free(n);
	free(s);
	munmap((void *)touched, 4096);
}

/* A child that nobody may look into, and one that never was. */
static void test_processes_that_are_not_there(void **state)
{
	struct seen *s = calloc(1, sizeof(*s));
	const struct native_reader reader = {
		s, count, leave, NULL, count_turns, count_interrupts
	};
	const struct native_definitions definitions = { s, next_id, define };
	struct native *n = native_new(WHATEVER_IT_COSTS, false);

	(void)state;
	native_sampler_add(n, 1, 0x3fffffff);
	native_forget(n, 2);
	assert_int_equal(native_read(n, 1, &reader, &definitions), 0);
	assert_int_equal(native_define(n, &definitions), 0);
	assert_int_equal(s->samples, 0);
	assert_int_equal(native_refused(n), 0);
	native_free(n);
	native_free(NULL);
	free(s);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions_of_a_child),
		cmocka_unit_test(test_times_without_a_cpu),
		cmocka_unit_test(test_processes_that_are_not_there),
	};
	const struct CMUnitTest measures[] = {
		cmocka_unit_test(most_samples_are_in_the_functions_that_burn),
		cmocka_unit_test(nothing_is_lost_of_who_changes_often),
		cmocka_unit_test(who_changes_often_is_watched_a_part_of_the_time),
		cmocka_unit_test(interrupts_count_where_the_kernel_is_at_work),
		cmocka_unit_test(page_faults_are_told_an_eighth_of_the_time),
	};

	if (is_measuring(argc, argv))
		return cmocka_run_group_tests(measures, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
