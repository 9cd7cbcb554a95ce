/* links: is_capture */
/*
 * What a thread is doing, by what /proc says of it: texts as the kernel writes
 * them, and real threads in known places.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture/sampler/thread_state.h"
#include "patience.h"

static const struct address_range no_gil = { 0, 0 };

/* root/proc/1/task/2 with one file. */
struct fake {
	char root[64];
	char file[256]; /* "": none yet */
};

static const char *const folders[] = { "", "/proc", "/proc/1", "/proc/1/task", "/proc/1/task/2" };
#define FOLDERS (sizeof(folders) / sizeof(folders[0]))

static void fake_init(struct fake *f)
{
	snprintf(f->root, sizeof(f->root), "/tmp/inferscope-state-XXXXXX");
	assert_non_null(mkdtemp(f->root));
	f->file[0] = '\0';
	for (size_t i = 1; i < FOLDERS; i++) {
		char path[256];

		snprintf(path, sizeof(path), "%s%s", f->root, folders[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
}

static void fake_put(struct fake *f, const char *name, const char *text)
{
	FILE *file;

	snprintf(f->file, sizeof(f->file), "%s%s/%s", f->root, folders[FOLDERS - 1], name);
	file = fopen(f->file, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void fake_remove(const struct fake *f)
{
	unlink(f->file);
	for (size_t i = FOLDERS; i-- > 0;) {
		char path[256];

		snprintf(path, sizeof(path), "%s%s", f->root, folders[i]);
		assert_int_equal(rmdir(path), 0);
	}
}

static struct thread_state sample(const char *root, pid_t pid, pid_t tid, struct address_range gil)
{
	struct thread_state_readeres all = { 0 };
	struct thread_state_reader w;
	struct thread_state s;

	thread_state_reader_open(&w, &all, root, pid, tid);
	s = thread_state_reader_state(&w, gil);
	thread_state_reader_close(&w, &all);
	assert_int_equal(all.open, 0);
	return s;
}

static void assert_call(const char *text, struct address_range gil, enum sample_state state,
			uint64_t lock)
{
	struct thread_state s;
	struct fake f;

	fake_init(&f);
	fake_put(&f, "syscall", text);
	s = sample(f.root, 1, 2, gil);
	assert_int_equal(s.state, state);
	assert_int_equal(s.lock, lock);
	fake_remove(&f);
}

static const char *futex_text(uint64_t address, int operation, uint64_t stack)
{
	static char text[256];

	snprintf(text, sizeof(text),
		 "%d 0x%llx 0x%x 0x0 0x0 0x0 0xffffffff 0x%llx 0x7f4e32a06f16\n", SYS_futex,
		 (unsigned long long)address, (unsigned)operation, (unsigned long long)stack);
	return text;
}

static void test_texts_of_the_kernel(void **state)
{
	const struct address_range gil = { 0x1000, 0x1100 };
	const uint64_t stack = 0x7f4e237fd500;
	char text[128];

	(void)state;
	assert_call("running\n", gil, SAMPLE_RUNNING, 0);
	assert_call("-1 0x7ffc32f69180 0x7f4e32a7f9ec\n", gil, SAMPLE_OFF_CPU, 0);
	assert_call("", gil, SAMPLE_UNKNOWN, 0);
	assert_call("nonsense", gil, SAMPLE_UNKNOWN, 0);
	snprintf(text, sizeof(text), "%d 0x3 0x0 0x1 0x0 0x0 0x0 0x0 0x0\n", SYS_read);
	assert_call(text, gil, SAMPLE_IO_WAIT, 0);
	/* For a time: time.sleep() of 3.11 and later, and before. */
	snprintf(text, sizeof(text), "%d 0x1 0x1 0x7f00 0x0 0x0 0x0 0x0 0x0\n",
		 SYS_clock_nanosleep);
	assert_call(text, gil, SAMPLE_SLEEP, 0);
	snprintf(text, sizeof(text), "%d 0x0 0x0 0x0 0x0 0x7f00 0x0 0x0 0x0\n", SYS_pselect6);
	assert_call(text, gil, SAMPLE_SLEEP, 0);
	snprintf(text, sizeof(text), "%d 0x4 0x7f10 0x0 0x0 0x7f00 0x0 0x0 0x0\n", SYS_pselect6);
	assert_call(text, gil, SAMPLE_IO_WAIT, 0);
	snprintf(text, sizeof(text), "%d 0x7f10 0x1 0x7f00 0x0 0x0 0x0 0x0 0x0\n", SYS_ppoll);
	assert_call(text, gil, SAMPLE_IO_WAIT, 0);
	snprintf(text, sizeof(text), "%d 0x3 0x0 0x1 0x0 0x0 0x0 0x0 0x0\n", SYS_mprotect);
	assert_call(text, gil, SAMPLE_OFF_CPU, 0);

	assert_call(futex_text(0x1000, 0x89, stack), gil, SAMPLE_GIL_WAIT, 0);
	assert_call(futex_text(0x10ff, 0x80, stack), gil, SAMPLE_GIL_WAIT, 0);
	assert_call(futex_text(0x1100, 0x189, stack), gil, SAMPLE_LOCK_WAIT, 0x1100);
	assert_call(futex_text(0xfff, 0x189, stack), gil, SAMPLE_LOCK_WAIT, 0xfff);
	assert_call(futex_text(0x1000, 0x89, stack), no_gil, SAMPLE_LOCK_WAIT, 0x1000);
	/* It wakes others: no wait. */
	assert_call(futex_text(0x1100, 0x81, stack), gil, SAMPLE_OFF_CPU, 0);
	/* Parked in its own frames: which lock it wants is not known. */
	assert_call(futex_text(stack + 0x110, 0x89, stack), gil, SAMPLE_LOCK_WAIT, 0);
}

static void test_letter_where_calls_are_refused(void **state)
{
	static const struct {
		const char *text;
		enum sample_state state;
	} cases[] = {
		{ "2 (python) R 1 2 3", SAMPLE_RUNNING },
		{ "2 (a) S (b) R 1 2 3", SAMPLE_RUNNING },
		{ "2 (python) S 1 2 3", SAMPLE_OFF_CPU },
		{ "2 (python) D 1 2 3", SAMPLE_IO_WAIT },
		{ "2 (python) Z 1 2 3", SAMPLE_UNKNOWN },
		{ "2 (python)", SAMPLE_UNKNOWN },
		{ "", SAMPLE_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct thread_state_readeres all = { 0 };
		struct thread_state_reader w;
		struct fake f;

		fake_init(&f);
		fake_put(&f, "stat", cases[i].text); /* and no file "syscall" */
		thread_state_reader_open(&w, &all, f.root, 1, 2);
		assert_true(w.refused);
		assert_int_equal(thread_state_reader_state(&w, no_gil).state, cases[i].state);
		thread_state_reader_close(&w, &all);
		fake_remove(&f);
	}
}

static void test_thread_that_is_gone_is_unknown(void **state)
{
	struct thread_times times;

	(void)state;
	assert_int_equal(sample("/nowhere", 1, 2, no_gil).state, SAMPLE_UNKNOWN);
	assert_false(thread_times_read(&times, "/nowhere", 1, 2));
}

/* A thread in a known place. */
struct place {
	pthread_t thread;
	_Atomic int tid;
	_Atomic int leave;
	int pipe[2];
	sem_t sem;
};

static void *spin(void *arg)
{
	struct place *p = arg;

	atomic_store(&p->tid, (int)syscall(SYS_gettid));
	while (!atomic_load(&p->leave))
		;
	return NULL;
}

static void *read_pipe(void *arg)
{
	struct place *p = arg;
	char byte;

	atomic_store(&p->tid, (int)syscall(SYS_gettid));
	assert_int_equal(read(p->pipe[0], &byte, 1), 1);
	return NULL;
}

static void *wait_sem(void *arg)
{
	struct place *p = arg;

	atomic_store(&p->tid, (int)syscall(SYS_gettid));
	sem_wait(&p->sem);
	return NULL;
}

static bool is_asleep(pid_t tid)
{
	char path[64], text[256] = "", letter = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "r");
	if (file && fgets(text, sizeof(text), file))
		letter = strrchr(text, ')')[2];
	if (file)
		fclose(file);
	return letter == 'S';
}

/* Returns when the thread is in its place: all but who spins sleep there. */
static pid_t place_enter(struct place *p, void *(*run)(void *))
{
	memset(p, 0, sizeof(*p));
	assert_int_equal(pipe(p->pipe), 0);
	sem_init(&p->sem, 0, 0);
	assert_int_equal(pthread_create(&p->thread, NULL, run, p), 0);
	for (struct patience wait = { 0 };
	     !atomic_load(&p->tid) || (run != spin && !is_asleep(atomic_load(&p->tid)));)
		assert_true(patience_lasts(&wait));
	return atomic_load(&p->tid);
}

static void place_leave(struct place *p)
{
	atomic_store(&p->leave, 1);
	sem_post(&p->sem);
	assert_int_equal(write(p->pipe[1], "", 1), 1);
	pthread_join(p->thread, NULL);
	close(p->pipe[0]);
	close(p->pipe[1]);
	sem_destroy(&p->sem);
}

/* Under an emulator /proc tells of its own system calls, which have other numbers. */
static bool is_emulated(void)
{
	char path[64], text[16] = "";
	struct place p;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", place_enter(&p, read_pipe));
	file = fopen(path, "r");
	if (file && !fgets(text, sizeof(text), file))
		text[0] = '\0';
	if (file)
		fclose(file);
	place_leave(&p);
	return strtol(text, NULL, 10) != SYS_read;
}

static void test_real_threads(void **state)
{
	struct address_range gil;
	struct thread_state s;
	struct place p;
	pid_t tid;

	(void)state;
	if (is_emulated()) {
		printf("skipped: the system calls are another machine's\n");
		skip();
		return;
	}
	tid = place_enter(&p, spin);
	assert_int_equal(sample("", getpid(), tid, no_gil).state, SAMPLE_RUNNING);
	place_leave(&p);

	tid = place_enter(&p, read_pipe);
	assert_int_equal(sample("", getpid(), tid, no_gil).state, SAMPLE_IO_WAIT);
	place_leave(&p);

	tid = place_enter(&p, wait_sem);
	s = sample("", getpid(), tid, no_gil);
	assert_int_equal(s.state, SAMPLE_LOCK_WAIT);
	assert_in_range(s.lock, (uintptr_t)&p.sem, (uintptr_t)(&p.sem + 1) - 1);
	gil = (struct address_range){ (uintptr_t)&p.sem, (uintptr_t)(&p.sem + 1) };
	assert_int_equal(sample("", getpid(), tid, gil).state, SAMPLE_GIL_WAIT);
	place_leave(&p);
}

static int64_t thread_cpu_ns(pthread_t thread)
{
	struct timespec t;
	clockid_t clock;

	assert_int_equal(pthread_getcpuclockid(thread, &clock), 0);
	assert_int_equal(clock_gettime(clock, &t), 0);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void test_times_are_those_of_the_cpu_clock(void **state)
{
	struct patience wait = { 0 };
	struct thread_times times;
	int64_t before;
	struct place p;
	pid_t tid = place_enter(&p, spin);

	(void)state;
	/* The kernel brings what it shows up to date at its ticks: what was used is shown soon. */
	before = thread_cpu_ns(p.thread);
	do {
		assert_true(patience_lasts(&wait));
		assert_true(thread_times_read(&times, "", getpid(), tid));
		assert_true((int64_t)times.on_cpu_ns <= thread_cpu_ns(p.thread));
	} while ((int64_t)times.on_cpu_ns < before);
	place_leave(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts_of_the_kernel),
		cmocka_unit_test(test_letter_where_calls_are_refused),
		cmocka_unit_test(test_thread_that_is_gone_is_unknown),
		cmocka_unit_test(test_real_threads),
		cmocka_unit_test(test_times_are_those_of_the_cpu_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
