/*
 * The overhead budget on CPython 3.8 to 3.11: calls are traced in bursts.
 *
 * A profile function cannot be switched off for single functions, so tracing as a
 * whole pauses when the budget is overdrawn and goes on when there is credit for a
 * burst that is worth having.  Each thread pauses itself, at its next event: it
 * alone may write its ring, and one that has no event until the recording goes on
 * has missed nothing.  The tender (tender.h) switches on again.
 *
 * From 3.10 on a profile function slows down every instruction, not only calls: a
 * loop that calls nothing would pay without ever coming by here.  There the
 * account has a part for time, a tax on the time in which Python code is interpreted: the tender
 * looks now and then whether it is, and charges the time since its last look if so.  That is
 * right on average whatever the program does, and C code, which loses nothing, pays nothing
 * (interpreting.h).  The tender also switches
 * off ("cuts") all threads.  A thread that was cut says so, belatedly, at its first event
 * afterwards.
 *
 * Everything needs the GIL unless it says otherwise; what is atomic is written with it and
 * read by the tender, or by a thread that ends, without.
 */
#ifndef AGENT_BURSTS_H
#define AGENT_BURSTS_H

#include "agent/interpreting.h"
#include "agent/pyapi.h"
#include "agent/session.h"

#define BURSTS_EVENTS 7 /* kinds of profile events: enum py_trace_event */

/* The profile slots of all threads. */
struct bursts_slots {
	void (*set)(void);
	void (*clear)(void);
};

struct bursts {
	_Atomic bool bounded; /* else none of this happens */
	_Atomic bool paused;
	_Atomic uint32_t cuts;           /* so many times all threads were cut */
	int64_t left_ps;                 /* of the present lot of events */
	uint32_t cost_ps[BURSTS_EVENTS]; /* of an event, by enum py_trace_event */
};

extern struct bursts bursts;

/*
 * When tracing starts: events cost nothing until bursts_set_costs() says what, by
 * what calibration.h found, and nothing pauses.  Without a bound nothing ever does, but the
 * account is kept.
 */
void bursts_start(const struct bursts_slots *slots);
void bursts_set_costs(void);
void bursts_stop(void);

bool bursts_look(void); /* only for bursts_event() */

static inline bool bursts_paused(void)
{
	return atomic_load_explicit(&bursts.paused, memory_order_relaxed);
}

/*
 * A profile event of the calling thread is to be paid for.  True: recording pauses, and the
 * thread is to give up its slot.
 */
static inline bool bursts_event(int what)
{
	if (bursts_paused())
		return true;
	interpreting_event(what == PY_TRACE_C_CALL);
	bursts.left_ps -= bursts.cost_ps[what];
	return __builtin_expect(bursts.left_ps < 0, 0) && bursts_look();
}

/* Is there a bound at all? */
static inline bool bursts_bounded(void)
{
	return atomic_load_explicit(&bursts.bounded, memory_order_relaxed);
}

/* The calling thread gives up its slot: the trace is told. */
void bursts_leave(struct ring *r);

/*
 * A thread that was cut says so now, if it has not: when it ends, and before what would make it
 * seem to have been recorded up to here.  By the thread itself, with the GIL or without.
 */
void bursts_tell_cut(struct ring *r);

void bursts_enter_slow(struct ring *r, int what);

/* Before an event is recorded: the trace is told where the thread is, if it does not know. */
static inline void bursts_enter(struct ring *r, int what)
{
	if (__builtin_expect(!r->in_step || r->cuts != bursts.cuts, 0))
		bursts_enter_slow(r, what);
}

#endif
