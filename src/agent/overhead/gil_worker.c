#include "agent/overhead/profile_throttle.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/core/agent_threads.h"
#include "agent/python/pyapi.h"
#include "format/stamp.h"

#define DUTIES_MAX 4u
#define STACK_BYTES ((size_t)512 << 10)
#define UNLISTED_BEFORE 0x030c0000u /* the list of thread states is known up to there */

static _Atomic(const struct gil_worker_duty *) duties[DUTIES_MAX];
static _Atomic uint32_t wakes;  /* the word that the GIL worker sleeps on */
static _Atomic uint32_t keeper; /* number of the thread that is to do it; others leave */
static _Atomic bool running;    /* there is one */
static bool fork_hooks_are_set, exit_hook_is_set;
static char *state; /* the thread's own thread state; NULL: there is none yet */

/* At the end of the interpreter, when its state is gone: a sleeping worker must not ask for the
 * GIL. */
static void dismiss(void)
{
	atomic_fetch_add_explicit(&keeper, 1, memory_order_relaxed);
	atomic_store_explicit(&running, false, memory_order_relaxed);
	exit_hook_is_set = false; /* CPython calls it once */
	state = NULL;             /* of an interpreter that is gone: its memory stays */
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

	/* The result does not matter: the caller checks again. */
	syscall(SYS_futex, &wakes, FUTEX_WAIT_BITSET_PRIVATE, seen,
		when_ns == GIL_WORKER_NEVER ? NULL : &until, NULL, FUTEX_BITSET_MATCH_ANY);
}

/* Does what is due; returns when to check again. */
static uint64_t do_duties(char *own, uint32_t number)
{
	uint64_t next = GIL_WORKER_NEVER;

	for (size_t i = 0; i < DUTIES_MAX; i++) {
		/* Pairs with the release in enlist(). */
		const struct gil_worker_duty *d =
			atomic_load_explicit(&duties[i], memory_order_acquire);
		uint64_t when = d ? d->due_at(stamp_monotonic()) : GIL_WORKER_NEVER;

		if (when == GIL_WORKER_NOW) {
			if (dismissed(number))
				return GIL_WORKER_NEVER;
			py.Eval_RestoreThread(own); /* may not return: see profile_throttle.h */
			d->work();
			py.Eval_SaveThread();
			when = d->due_at(stamp_monotonic());
		}
		if (when < next)
			next = when;
	}
	return next;
}

static void *run(void *argument)
{
	uint32_t number = (uint32_t)(uintptr_t)argument;
	char *own = state; /* written before the thread was started */

	while (!dismissed(number)) {
		/* Before do_duties(): a wake during it ends the sleep at once. */
		uint32_t seen = atomic_load_explicit(&wakes, memory_order_acquire);
		uint64_t next = do_duties(own, number);

		if (next != GIL_WORKER_NOW)
			sleep_until(seen, next);
	}
	return NULL;
}

/* --- its thread state --- */

/* In a thread state, 3.8 to 3.11. */
struct links {
	char *newer, *older;
};

static struct links links_of(const char *thread_state)
{
	struct links l;

	memcpy(&l, thread_state, sizeof(l));
	return l;
}

/* Takes it out of the interpreter's list.  False: the list is not as expected, or it comes first
 * there, where threads without the GIL may add theirs. */
static bool unlink_state(char *s)
{
	struct links none = { 0 }, own = links_of(s);

	if (!own.newer || !own.older || py.ThreadState_Next(s) != own.older ||
	    py.ThreadState_Next(own.newer) != s || links_of(own.newer).older != s ||
	    links_of(own.older).newer != s)
		return false;
	memcpy(own.newer + offsetof(struct links, older), &own.older, sizeof(char *));
	memcpy(own.older + offsetof(struct links, newer), &own.newer, sizeof(char *));
	memcpy(s, &none, sizeof(none));
	return true;
}

static void delete_state(char *s) /* NULL is a no-op */
{
	if (!s)
		return;
	py.ThreadState_Clear(s);
	py.ThreadState_Delete(s);
}

/*
 * A thread state that is in no list, so that nothing finds it: faulthandler would print one more
 * thread, PyThreadState_SetAsyncExc() would take it for the caller's, whose ids it bears, and the
 * interpreter would free it at its end or after a fork.  It is never freed.
 *
 * During this only threads without the GIL change the list, and they only add in front of the
 * first: a second thread state, made after this one, is between it and them.
 */
static char *make_state(void)
{
	char *s, *second;

	/* Where the caller has no thread state of its own, PyThreadState_New() would give it this.
	 */
	if (py.version >= UNLISTED_BEFORE || !py.ThreadState_OfThis())
		return NULL;
	s = py.ThreadState_New(py.Interpreter_Main());
	second = s ? py.ThreadState_New(py.Interpreter_Main()) : NULL;
	if (!second || !unlink_state(s)) {
		delete_state(s);
		s = NULL;
	}
	delete_state(second);
	return s;
}

/*
 * The starter has the GIL and makes the thread state.  If the new thread made its own,
 * the starter would have to wait for it, so that the interpreter does not end before, and the new
 * thread may need the GIL: PyThreadState_New() allocates, and tracemalloc takes the GIL at
 * allocations.
 */
static bool begin(void)
{
	uint32_t number = atomic_fetch_add_explicit(&keeper, 1, memory_order_relaxed) + 1;
	pthread_attr_t attributes;
	pthread_t thread;
	int result;

	if (py.IsFinalizing && py.IsFinalizing())
		return false;
	if (!fork_hooks_are_set)
		fork_hooks_are_set = !pthread_atfork(NULL, NULL, in_forked_child);
	if (!exit_hook_is_set)
		exit_hook_is_set = !py.AtExit(dismiss);
	if (!fork_hooks_are_set || !exit_hook_is_set)
		return false;
	if (!state) /* a forked child goes on with its parent's */
		state = make_state();
	if (!state || pthread_attr_init(&attributes))
		return false;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	result = agent_thread_start(&thread, &attributes, run, (void *)(uintptr_t)number);
	pthread_attr_destroy(&attributes);
	return !result;
}

static bool enlist(const struct gil_worker_duty *duty)
{
	for (size_t i = 0; i < DUTIES_MAX; i++) {
		const struct gil_worker_duty *d =
			atomic_load_explicit(&duties[i], memory_order_relaxed);

		/* Pairs with the acquire in do_duties(); the caller has the GIL. */
		if (!d)
			atomic_store_explicit(&duties[i], duty, memory_order_release);
		if (!d || d == duty)
			return true;
	}
	return false;
}

bool gil_worker_serves(const struct gil_worker_duty *duty)
{
	bool found = false;

	for (size_t i = 0; i < DUTIES_MAX; i++)
		found |= atomic_load_explicit(&duties[i], memory_order_relaxed) == duty;
	return found && atomic_load_explicit(&running, memory_order_relaxed);
}

bool gil_worker_wake(const struct gil_worker_duty *duty)
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
