#include "agent/ahead.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/own_thread.h"
#include "agent/session.h"

enum phase {
	IDLE,    /* no thread */
	WAITING, /* it sleeps */
	PAUSING, /* it is asked to end */
	BEGUN,   /* it calls those who asked */
};

typedef void (*begin_function)(void);

static void taken(void)
{
}

static _Atomic int phase;
static _Atomic(begin_function) slots[AHEAD_SLOTS]; /* NULL: nobody; taken: it was called */
static _Atomic int served;                         /* of them, the first: they have returned */
static _Atomic(struct session *) awaited;
static _Atomic bool gone;
static pthread_t thread;
static _Atomic int thread_number; /* gettid(); 0: the kernel has none */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void wait_for_it(const struct session *s)
{
	_Atomic uint32_t *active = &s->header->active;

	while (atomic_load(&phase) == WAITING &&
	       atomic_load_explicit(active, memory_order_acquire) == SHM_AHEAD)
		syscall(SYS_futex, active, FUTEX_WAIT, SHM_AHEAD, NULL, NULL, 0);
}

static void call_all(void)
{
	for (int i = 0; i < AHEAD_SLOTS; i++) {
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
	for (int i = 0; i < AHEAD_SLOTS; i++)
		atomic_store(&slots[i], NULL);
}

static void *run(void *unused)
{
	struct session *s = atomic_load(&awaited);
	int waiting = WAITING;

	(void)unused;
	atomic_store(&thread_number, (int)syscall(SYS_gettid));
	if (s)
		wait_for_it(s);
	if (!atomic_compare_exchange_strong(&phase, &waiting, BEGUN)) {
		atomic_store(&gone, true);
		return NULL;
	}
	pthread_detach(pthread_self());
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
	for (int i = 0; i < AHEAD_SLOTS; i++)
		atomic_store(&slots[i], NULL);
}

static void set_up_once(void)
{
	pthread_atfork(NULL, NULL, in_forked_child);
}

static bool start(void)
{
	int result, idle = IDLE;

	if (!atomic_compare_exchange_strong(&phase, &idle, WAITING))
		return true; /* there is one */
	atomic_store(&gone, false);
	atomic_store(&served, 0);
	result = own_thread_start(&thread, NULL, run, NULL);
	if (result)
		atomic_store(&phase, IDLE);
	return !result;
}

bool ahead_wait(enum ahead_slot slot, const char *where, void (*begin)(void))
{
	begin_function there = NULL;
	struct session *mapped = NULL;

	pthread_once(&once, set_up_once);
	if (!atomic_load(&awaited)) {
		struct session *none = NULL;

		mapped = session_map_ahead(where);
		if (!mapped)
			return false;
		if (!atomic_compare_exchange_strong(&awaited, &none, mapped))
			session_unmap(mapped); /* another thread was first */
	}
	if (!atomic_compare_exchange_strong(&slots[slot], &there, begin) && there != begin)
		return false; /* it has begun meanwhile */
	return start();
}

/* Who holds the GIL comes here; a thread that has begun may be waiting for it. */
void ahead_pause(void)
{
	int waiting = WAITING;

	if (!atomic_compare_exchange_strong(&phase, &waiting, PAUSING))
		return;
	/* It may be just about to sleep: woken until it has seen it. */
	while (!atomic_load(&gone)) {
		syscall(SYS_futex, &atomic_load(&awaited)->header->active, FUTEX_WAKE, INT_MAX,
			NULL, NULL, 0);
		sched_yield();
	}
	pthread_join(thread, NULL);
	own_thread_wait(atomic_load(&thread_number));
	atomic_store(&phase, IDLE);
}

bool ahead_begins(enum ahead_slot slot)
{
	return atomic_load(&slots[slot]) && atomic_load(&served) <= (int)slot &&
	       atomic_load(&phase) == BEGUN;
}

bool ahead_is_counted(void)
{
	if (atomic_load(&phase) != IDLE)
		return true;
	if (!own_thread_is_counted(atomic_load(&thread_number)))
		atomic_store(&thread_number, 0); /* it may be another thread's later */
	return atomic_load(&thread_number) != 0;
}

void ahead_cancel(void)
{
	ahead_pause();
	if (atomic_load(&phase) == IDLE)
		forget();
}
