/*
 * Which functions are traced no longer because the budget is overdrawn; for
 * CPython 3.12 and later, where the events of single functions can be switched off.
 *
 * Overdrawn, every event is looked at.  A count of some events tells which
 * functions cause most of them; in the purge after it each of these is left out
 * when its next event arrives.  Rounds follow for less and less frequent
 * functions until recording costs no more than time earns.  So the functions that go
 * are those of many short calls: one that takes milliseconds cannot have many
 * events in a count.
 *
 * All threads must hear of it, because the ends of a left-out function's open
 * calls never come: a log of what was decided, of which every ring gets the part
 * that it does not have yet before its next event.
 *
 * All functions need the GIL.
 */
#ifndef AGENT_OVERHEAD_FUNCTION_THROTTLE_H
#define AGENT_OVERHEAD_FUNCTION_THROTTLE_H

#include "agent/python/codes.h"

/* What the hook is to do. */
enum function_throttle_order {
	FUNCTION_THROTTLE_NONE,
	FUNCTION_THROTTLE_UNWINDING, /* exceptions are what costs: leave their events off */
	FUNCTION_THROTTLE_TRACE_ALL, /* everything may be traced again: see what it costs now */
};

/* A recording begins: nothing is left out. */
void function_throttle_start(void);

/*
 * Looks at an event, its kind and function (NULL: unknown), before it is recorded.
 * To be called when budget_due() says so.  May leave the function out:
 * note->throttled.
 */
enum function_throttle_order function_throttle_evaluate(struct ring *r, struct code_note *note,
							uint8_t kind);

/* Nobody wants to hear of this function for a while (watched_function_is_paused()): it is left out
 * like the others. */
void function_throttle_pause(struct code_note *note);

/* The hook has done as ordered. */
void function_throttle_unwinding_off(void);
void function_throttle_all_traced(void);

/* The hook cannot examine, now or ever: another tool's places would be switched on, too. */
void function_throttle_never_trace_all(void);

extern uint32_t function_throttle_decisions; /* entries of the log */

/* Pushes what this ring has not heard yet; to be called when ring.heard differs from it. */
void function_throttle_push_decisions(struct ring *r);

#endif
