/*
 * The overhead budget on CPython 3.8 to 3.11: calls are traced in intervals.
 *
 * A profile function cannot be switched off for single functions.  So tracing as a whole pauses
 * when the budget is overdrawn, and resumes when there is credit for an interval of useful length.
 * Each thread pauses itself, at its next event, because only it may write its ring; a thread
 * without an event before the recording resumes has missed nothing.  The GIL worker (below)
 * resumes tracing.
 *
 * From 3.10 on a profile function slows down every instruction, not only calls, so that a loop
 * without calls would pay without ever having an event.  There the account also charges the time in
 * which Python code is interpreted (the tax): the GIL worker samples now and then whether it is,
 * and charges the time since its last sample if so.  This is right on average whatever the program
 * does; C code, which is not slowed down, is not charged.  The GIL worker also clears the slots of
 * all threads ("cuts" them).  A thread that was cut records that late, at its first event
 * afterwards.
 *
 * Everything needs the GIL unless it says otherwise; atomic members are written with the GIL and
 * read without it by the GIL worker, or by a thread that ends.
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
 * Sampled by the GIL worker without the GIL.  The thread that holds the GIL interprets Python code
 * unless its latest event called a C function, or it is inside an operator or the like: then it is
 * still at the same instruction of the same frame some time later.
 *
 * Memory that other threads may change and free during the sample is read through the kernel:
 * freed memory is an error there, not a crash.
 */

enum gil_activity_state {
	GIL_ACTIVITY_KNOWN,
	GIL_ACTIVITY_UNDECIDED, /* the holder of the GIL does not run */
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
 * microseconds.  If the thread does not run, perhaps because we occupy its CPU, it is sampled
 * again after a short sleep: an operator that is done by then counts as Python code.  One thread
 * at a time may call this.
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
	_Atomic uint32_t cuts;                     /* how often all threads were cut */
	int64_t left_ps;                           /* left of the present lot of events */
	uint32_t cost_ps[PROFILE_THROTTLE_EVENTS]; /* of an event, by enum py_trace_event */
};

extern struct profile_throttle profile_throttle;

/*
 * When tracing starts.  Events cost nothing, and nothing pauses, until profile_throttle_set_costs()
 * sets their costs from calibration.h.  Without a bound nothing ever pauses, but the account is
 * kept.
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

/* Records that the calling thread gives up its slot. */
void profile_throttle_clear_slot(struct ring *r);

/*
 * Records that tracing of the calling thread was paused, if that is not recorded yet: when the
 * thread ends, and before a record that would suggest that it was traced up to here.  With or
 * without the GIL.
 */
void profile_throttle_record_cut(struct ring *r);

void profile_throttle_enter_slow(struct ring *r, int what);

/* Before an event: records which functions the thread is in, if the trace does not know. */
static inline void profile_throttle_enter(struct ring *r, int what)
{
	if (__builtin_expect(!r->in_step || r->cuts != profile_throttle.cuts, 0))
		profile_throttle_enter_slow(r, what);
}

/*
 * The GIL worker, CPython 3.8 to 3.11: a thread of the agent for work that needs the GIL at times
 * when no thread of the program is in one of our hooks.
 *
 * It exists from the first gil_worker_wake() on and sleeps when nothing is due.  The program does
 * not notice it: all signals are blocked in it, Python's threading module does not know it, a fork
 * does not copy it (the next gil_worker_wake() in the child makes another), and nothing waits for
 * it at the end.
 *
 * The end of the interpreter.  From then on CPython makes a thread that asks for the GIL exit.  The
 * worker checks before it asks; its thread state was made by gil_worker_wake() with the GIL and is
 * in no list of the interpreter; it holds nothing that would have to be released.
 * Py_AtExit() ends it for good before another interpreter can begin.
 *
 * The thread state is not the one that PyGILState_Ensure() would find in this thread: work() must
 * not call what uses that, as allocations do under tracemalloc.
 */

#define GIL_WORKER_NOW 0u
#define GIL_WORKER_NEVER UINT64_MAX

struct gil_worker_duty {
	/*
	 * Without the GIL: when is there work?  GIL_WORKER_NOW; a time of CLOCK_MONOTONIC at which
	 * to ask again; or GIL_WORKER_NEVER: not before the next gil_worker_wake().
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
