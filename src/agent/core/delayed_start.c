#include "agent/core/delayed_start.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/core/agent_threads.h"
#include "agent/core/bounded_wait.h"
#include "agent/core/session.h"

enum phase {
	IDLE,    /* no thread */
	WAITING, /* it sleeps */
	PAUSING, /* it is asked to end */
	BEGUN,   /* it runs the callbacks */
};

typedef void (*begin_function)(void);

static void taken(void)
{
}

static _Atomic int phase;
static _Atomic(begin_function) slots[DELAYED_START_SLOTS]; /* NULL: free; taken: it was called */
static _Atomic int served; /* of them, the first: they have returned */
static _Atomic(struct session *) awaited;
static _Atomic int thread_number; /* gettid(); 0: the kernel has none */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void wait_for_it(const struct session *s)
{
	_Atomic uint32_t *active = &s->header->active;

	while (atomic_load(&phase) == WAITING &&
	       atomic_load_explicit(active, memory_order_acquire) == SHM_DELAYED)
		syscall(SYS_futex, active, FUTEX_WAIT, SHM_DELAYED, NULL, NULL, 0);
}

static void call_all(void)
{
	for (int i = 0; i < DELAYED_START_SLOTS; i++) {
		begin_function begin = atomic_exchange(&slots[i], taken);

		if (begin)
			begin();
		atomic_store(&served, i + 1);
	}
}

/* Ready for another recording. */
static void forget(void)
{
	session_unmap(atomic_exchange(&awaited, NULL));
	for (int i = 0; i < DELAYED_START_SLOTS; i++)
		atomic_store(&slots[i], NULL);
}

/* False: it was asked to end.  True: it may run the callbacks. */
static bool wait_until_begun(const struct session *s)
{
	for (;;) {
		int waiting = WAITING, pausing = PAUSING;

		if (s)
			wait_for_it(s);
		if (atomic_compare_exchange_strong(&phase, &waiting, BEGUN))
			return true;
		if (atomic_compare_exchange_strong(&phase, &pausing, IDLE))
			return false;
		/* start() took the question back. */
	}
}

static void *run(void *unused)
{
	(void)unused;
	atomic_store(&thread_number, (int)syscall(SYS_gettid));
	if (!wait_until_begun(atomic_load(&awaited)))
		return NULL;
	call_all();
	forget();
	atomic_store(&phase, IDLE);
	return NULL;
}

/* Async-signal-safe. */
static void in_forked_child(void)
{
	atomic_store(&phase, IDLE);
	atomic_store(&thread_number, 0);
	for (int i = 0; i < DELAYED_START_SLOTS; i++)
		atomic_store(&slots[i], NULL);
}

static void set_up_once(void)
{
	pthread_atfork(NULL, NULL, in_forked_child);
}

static bool start(void)
{
	int result, idle = IDLE, pausing = PAUSING;
	pthread_t thread;

	/* One that was asked to end and has not noticed yet goes on. */
	if (atomic_compare_exchange_strong(&phase, &pausing, WAITING))
		return true;
	if (!atomic_compare_exchange_strong(&phase, &idle, WAITING))
		return true; /* there is one */
	atomic_store(&served, 0);
	result = agent_thread_start(&thread, NULL, run, NULL);
	if (result)
		atomic_store(&phase, IDLE);
	else
		pthread_detach(thread);
	return !result;
}

bool delayed_start_wait(enum delayed_start_slot slot, const char *where, void (*begin)(void))
{
	begin_function there = NULL;
	struct session *mapped = NULL;

	pthread_once(&once, set_up_once);
	if (!atomic_load(&awaited)) {
		struct session *none = NULL;

		mapped = session_map_delayed(where);
		if (!mapped)
			return false;
		if (!atomic_compare_exchange_strong(&awaited, &none, mapped))
			session_unmap(mapped); /* another thread was first */
	}
	if (!atomic_compare_exchange_strong(&slots[slot], &there, begin) && there != begin)
		return false; /* it has just begun */
	return start();
}

/*
 * It may be about to sleep: it is woken until it has noticed the request, or until start()
 * withdraws it.
 */
static bool is_paused(void *unused)
{
	struct session *s = atomic_load(&awaited);

	(void)unused;
	if (atomic_load(&phase) != PAUSING)
		return true;
	if (s)
		syscall(SYS_futex, &s->header->active, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	return false;
}

void delayed_start_pause(void)
{
	int waiting = WAITING;

	if (atomic_compare_exchange_strong(&phase, &waiting, PAUSING) &&
	    bounded_wait(is_paused, NULL, WAIT_WITHOUT_GIL_MS) && atomic_load(&phase) == IDLE)
		agent_thread_wait(atomic_load(&thread_number));
}

bool delayed_start_is_starting(enum delayed_start_slot slot)
{
	return atomic_load(&slots[slot]) && atomic_load(&served) <= (int)slot &&
	       atomic_load(&phase) == BEGUN;
}

bool delayed_start_is_counted(void)
{
	if (atomic_load(&phase) != IDLE)
		return true;
	if (!agent_thread_is_counted(atomic_load(&thread_number)))
		atomic_store(&thread_number, 0); /* it may be another thread's later */
	return atomic_load(&thread_number) != 0;
}

void delayed_start_cancel(void)
{
	if (atomic_load(&phase) == IDLE)
		forget();
}
