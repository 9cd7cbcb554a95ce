#include "agent/tender.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/own_thread.h"
#include "agent/pyapi.h"
#include "format/stamp.h"

#define DUTIES_MAX 4u
#define STACK_BYTES ((size_t)512 << 10)
#define BIRTH_MOST_NS 100000000u
#define BIRTH_LOOK_NS 50000

/* Of a tender, with its number above: who comes first decides whether it is to be. */
enum birth { BIRTH_DUE, BIRTH_BEGUN, BIRTH_DONE, BIRTH_CANCELLED };
#define BIRTH(number, phase) ((uint32_t)(number) << 2 | (phase))

static _Atomic(const struct tender_duty *) duties[DUTIES_MAX];
static _Atomic uint32_t wakes;  /* the word that the tender sleeps on */
static _Atomic uint32_t keeper; /* number of the thread that is to do it; others leave */
static _Atomic bool running;    /* there is one */
static _Atomic uint32_t birth;  /* of the newest */
static bool forks_are_told, end_is_told;

/* At the end of the interpreter, with all of it gone: whoever sleeps must not ask for it. */
static void dismiss(void)
{
	atomic_fetch_add_explicit(&keeper, 1, memory_order_relaxed);
	atomic_store_explicit(&running, false, memory_order_relaxed);
	end_is_told = false; /* CPython calls it once */
}

static void in_forked_child(void)
{
	atomic_store_explicit(&running, false, memory_order_relaxed);
}

static bool dismissed(uint32_t number)
{
	return atomic_load_explicit(&keeper, memory_order_relaxed) != number ||
	       (py.IsFinalizing && py.IsFinalizing());
}

static void sleep_until(uint32_t seen, uint64_t when_ns)
{
	struct timespec until = { (time_t)(when_ns / 1000000000u), (long)(when_ns % 1000000000u) };

	/* Woken early, interrupted, changed meanwhile: all the same, it looks again. */
	syscall(SYS_futex, &wakes, FUTEX_WAIT_BITSET_PRIVATE, seen,
		when_ns == TENDER_NEVER ? NULL : &until, NULL, FUTEX_BITSET_MATCH_ANY);
}

/* When to look again. */
static uint64_t tend(char *state, uint32_t number)
{
	uint64_t next = TENDER_NEVER;

	for (size_t i = 0; i < DUTIES_MAX; i++) {
		/* Pairs with the release in enlist(). */
		const struct tender_duty *d =
			atomic_load_explicit(&duties[i], memory_order_acquire);
		uint64_t when = d ? d->look(stamp_monotonic()) : TENDER_NEVER;

		if (when == TENDER_NOW) {
			if (dismissed(number))
				return TENDER_NEVER;
			py.Eval_RestoreThread(state); /* may not return: see tender.h */
			d->work();
			py.Eval_SaveThread();
			when = d->look(stamp_monotonic());
		}
		if (when < next)
			next = when;
	}
	return next;
}

static void *run(void *argument)
{
	uint32_t number = (uint32_t)(uintptr_t)argument, due = BIRTH(number, BIRTH_DUE);
	char *state;

	if (!atomic_compare_exchange_strong_explicit(&birth, &due, BIRTH(number, BIRTH_BEGUN),
						     memory_order_relaxed, memory_order_relaxed))
		return NULL;
	state = py.ThreadState_New(py.Interpreter_Main());
	/* Pairs with the acquire in is_born(). */
	atomic_store_explicit(&birth, BIRTH(number, BIRTH_DONE), memory_order_release);
	while (state && !dismissed(number)) {
		/* Before the look: a wake that comes behind it is not slept over. */
		uint32_t seen = atomic_load_explicit(&wakes, memory_order_acquire);
		uint64_t next = tend(state, number);

		if (next != TENDER_NOW)
			sleep_until(seen, next);
	}
	return NULL; /* the thread state is the interpreter's to free */
}

/*
 * Waits until the thread has its thread state: whoever began it has the GIL, so until then the
 * interpreter cannot end.  A short program may be over before its tender first runs.  If it
 * takes too long the thread is not to make one.
 */
static bool is_born(uint32_t number)
{
	const struct timespec look = { 0, BIRTH_LOOK_NS };
	uint64_t until_ns = stamp_monotonic() + BIRTH_MOST_NS;
	uint32_t now;

	while ((now = atomic_load_explicit(&birth, memory_order_acquire)) !=
	       BIRTH(number, BIRTH_DONE)) {
		if (now == BIRTH(number, BIRTH_DUE) && stamp_monotonic() > until_ns &&
		    atomic_compare_exchange_strong_explicit(
			    &birth, &now, BIRTH(number, BIRTH_CANCELLED), memory_order_relaxed,
			    memory_order_relaxed))
			return false;
		nanosleep(&look, NULL);
	}
	return true;
}

/* A thread of ours must not be the one that takes the program's signals. */
static bool begin(void)
{
	uint32_t number = atomic_fetch_add_explicit(&keeper, 1, memory_order_relaxed) + 1;
	pthread_attr_t attributes;
	pthread_t thread;
	int result;

	if (py.IsFinalizing && py.IsFinalizing())
		return false;
	atomic_store_explicit(&birth, BIRTH(number, BIRTH_DUE), memory_order_relaxed);
	if (!forks_are_told)
		forks_are_told = !pthread_atfork(NULL, NULL, in_forked_child);
	if (!end_is_told)
		end_is_told = !py.AtExit(dismiss);
	if (!forks_are_told || !end_is_told || pthread_attr_init(&attributes))
		return false;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	result = own_thread_start(&thread, &attributes, run, (void *)(uintptr_t)number);
	pthread_attr_destroy(&attributes);
	return !result && is_born(number);
}

static bool enlist(const struct tender_duty *duty)
{
	for (size_t i = 0; i < DUTIES_MAX; i++) {
		const struct tender_duty *d =
			atomic_load_explicit(&duties[i], memory_order_relaxed);

		/* Pairs with the acquire in tend(); only who has the GIL comes here. */
		if (!d)
			atomic_store_explicit(&duties[i], duty, memory_order_release);
		if (!d || d == duty)
			return true;
	}
	return false;
}

bool tender_serves(const struct tender_duty *duty)
{
	bool found = false;

	for (size_t i = 0; i < DUTIES_MAX; i++)
		found |= atomic_load_explicit(&duties[i], memory_order_relaxed) == duty;
	return found && atomic_load_explicit(&running, memory_order_relaxed);
}

bool tender_wake(const struct tender_duty *duty)
{
	if (!enlist(duty))
		return false;
	if (!atomic_load_explicit(&running, memory_order_relaxed))
		atomic_store_explicit(&running, begin(), memory_order_relaxed);
	/* Pairs with the acquire in run(). */
	atomic_fetch_add_explicit(&wakes, 1, memory_order_release);
	syscall(SYS_futex, &wakes, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	return atomic_load_explicit(&running, memory_order_relaxed);
}
