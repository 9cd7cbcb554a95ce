/*
 * The overhead budget on CPython 3.8 to 3.11: calls are traced in bursts.
 *
 * A profile function cannot be switched off for single functions, so tracing as a
 * whole pauses when the budget is overdrawn and goes on when there is credit for a
 * burst that is worth having.  Each thread pauses itself, at its next event: it
 * alone may write its ring, and one that has no event until the recording goes on
 * has missed nothing.  The GIL worker (profile_throttle.h) switches on again.
 *
 * From 3.10 on a profile function slows down every instruction, not only calls: a
 * loop that calls nothing would pay without ever coming by here.  There the
 * account has a part for time, a tax on the time in which Python code is interpreted: the GIL
 * worker looks now and then whether it is, and charges the time since its last look if so.  That is
 * right on average whatever the program does, and C code, which loses nothing, pays nothing
 * (profile_throttle.h).  The GIL worker also switches
 * off ("cuts") all threads.  A thread that was cut says so, belatedly, at its first event
 * afterwards.
 *
 * Everything needs the GIL unless it says otherwise; what is atomic is written with it and
 * read by the GIL worker, or by a thread that ends, without.
 */
#ifndef AGENT_OVERHEAD_PROFILE_THROTTLE_H
#define AGENT_OVERHEAD_PROFILE_THROTTLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/core/session.h"
#include "agent/python/pyapi.h"

/*
 * Is Python code being interpreted at this moment, or does C code run?
 *
 * For the GIL worker (profile_throttle.h), which has not got the GIL: only the thread that has it
 * interprets, or it is in a C function that its latest event called, or in an operator and the
 * like: then it stands at the same instruction of the same frame some time later.
 *
 * Memory that other threads change and free meanwhile is read through the kernel: what is gone is
 * an error there, not a crash.
 */

enum gil_activity_state {
	GIL_ACTIVITY_KNOWN,
	GIL_ACTIVITY_UNDECIDED, /* who has the GIL does not run */
	GIL_ACTIVITY_UNKNOWN,   /* not with this interpreter, or the kernel refuses */
};

struct gil_activity {
	const unsigned long *switches; /* how often the GIL changed hands; NULL: unknown */
	_Atomic uint64_t in_c;         /* as often as when the latest event called a C function */
};

#define GIL_ACTIVITY_NOT_IN_C UINT64_MAX

extern struct gil_activity gil_activity;

/* With the GIL, behind frames_init(). */
void gil_activity_init(void);

/* A profile event of the calling thread; with the GIL. */
static inline void gil_activity_event(bool calls_c)
{
	if (gil_activity.switches)
		atomic_store_explicit(&gil_activity.in_c,
				      calls_c ? *gil_activity.switches : GIL_ACTIVITY_NOT_IN_C,
				      memory_order_relaxed);
}

/*
 * *share: of this moment, what is Python's; an estimate that is right on average.  It takes
 * microseconds.  If the thread does not run meanwhile, perhaps because it is we who have its CPU,
 * it is looked at again after a short sleep: an operator that is done by then counts as
 * Python's.  One thread at a time may ask.
 */
enum gil_activity_state gil_activity_sample(double *share);

#define PROFILE_THROTTLE_EVENTS 7 /* kinds of profile events: enum py_trace_event */

/* The profile slots of all threads. */
struct profile_throttle_slots {
	void (*set)(void);
	void (*clear)(void);
};

struct profile_throttle {
	_Atomic bool bounded; /* else none of this happens */
	_Atomic bool paused;
	_Atomic uint32_t cuts;                     /* so many times all threads were cut */
	int64_t left_ps;                           /* of the present lot of events */
	uint32_t cost_ps[PROFILE_THROTTLE_EVENTS]; /* of an event, by enum py_trace_event */
};

extern struct profile_throttle profile_throttle;

/*
 * When tracing starts: events cost nothing until profile_throttle_set_costs() says what, by
 * what calibration.h found, and nothing pauses.  Without a bound nothing ever does, but the
 * account is kept.
 */
void profile_throttle_start(const struct profile_throttle_slots *slots);
void profile_throttle_set_costs(void);
void profile_throttle_stop(void);

bool profile_throttle_evaluate(void); /* only for profile_throttle_event() */

static inline bool profile_throttle_paused(void)
{
	return atomic_load_explicit(&profile_throttle.paused, memory_order_relaxed);
}

/*
 * A profile event of the calling thread is to be paid for.  True: recording pauses, and the
 * thread is to give up its slot.
 */
static inline bool profile_throttle_event(int what)
{
	if (profile_throttle_paused())
		return true;
	gil_activity_event(what == PY_TRACE_C_CALL);
	profile_throttle.left_ps -= profile_throttle.cost_ps[what];
	return __builtin_expect(profile_throttle.left_ps < 0, 0) && profile_throttle_evaluate();
}

/* Is there a bound at all? */
static inline bool profile_throttle_bounded(void)
{
	return atomic_load_explicit(&profile_throttle.bounded, memory_order_relaxed);
}

/* The calling thread gives up its slot: the trace is told. */
void profile_throttle_clear_slot(struct ring *r);

/*
 * A thread that was cut says so now, if it has not: when it ends, and before what would make it
 * seem to have been recorded up to here.  By the thread itself, with the GIL or without.
 */
void profile_throttle_record_cut(struct ring *r);

void profile_throttle_enter_slow(struct ring *r, int what);

/* Before an event is recorded: the trace is told where the thread is, if it does not know. */
static inline void profile_throttle_enter(struct ring *r, int what)
{
	if (__builtin_expect(!r->in_step || r->cuts != profile_throttle.cuts, 0))
		profile_throttle_enter_slow(r, what);
}

/*
 * CPython 3.8 to 3.11: a thread of ours that does, with the GIL, what no thread of the program
 * comes by to do.
 *
 * It is there from the first gil_worker_wake() on and sleeps when nothing is due.  The
 * program does not notice: all signals are blocked in it, Python's threading
 * module does not know it, a fork leaves it behind (the next gil_worker_wake() in the
 * child makes another), and nobody waits for it at the end.
 *
 * The end of the interpreter.  CPython makes a thread that wants the GIL exit from
 * then on; the thread checks before it asks, has a thread state that gil_worker_wake() made with
 * the GIL and that the interpreter does not know, and keeps nothing that would have to be released.
 * Py_AtExit() ends it for good before another interpreter can begin.
 *
 * The thread state is not the one that PyGILState_Ensure() would find in this thread: work() must
 * not call what uses that, as allocations do under tracemalloc.
 */

#define GIL_WORKER_NOW 0u
#define GIL_WORKER_NEVER UINT64_MAX

struct gil_worker_duty {
	/*
	 * Without the GIL: when is there work?  GIL_WORKER_NOW; a time of CLOCK_MONOTONIC to look
	 * again at; or GIL_WORKER_NEVER: not before somebody calls gil_worker_wake().
	 */
	uint64_t (*due_at)(uint64_t now_ns);
	/* With the GIL; calls nothing of Python's that allocates or frees. */
	void (*work)(void);
};

/*
 * The duty's due_at() is to be called now, and from then on when it says.  With the GIL.
 * False: there is no thread to do it.  Costs a system call or two.
 */
bool gil_worker_wake(const struct gil_worker_duty *duty);

/* Was it woken for this duty, in this process? */
bool gil_worker_serves(const struct gil_worker_duty *duty);

#endif
