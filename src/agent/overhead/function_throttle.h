/*
 * Throttles functions when the budget is overdrawn: switches off the events of those with many
 * short calls.  CPython 3.12 and later, where this is possible for single functions.
 *
 * While the budget is overdrawn every event is examined.  A counting phase finds the functions
 * that cause most events; in the purge phase after it each of these is throttled when its next
 * event arrives.  Further rounds take less and less frequent functions until recording costs no
 * more than the budget earns.  A function that takes milliseconds cannot have many events in a
 * count, so only functions with short calls are throttled.
 *
 * The ends of a throttled function's open calls never arrive, so every thread's trace must have
 * the decision: there is a log of decisions, and each ring gets its missing part before its next
 * event.
 *
 * All functions need the GIL.
 */
#ifndef AGENT_OVERHEAD_FUNCTION_THROTTLE_H
#define AGENT_OVERHEAD_FUNCTION_THROTTLE_H

#include "agent/python/codes.h"

/* What the hook is to do. */
enum function_throttle_order {
	FUNCTION_THROTTLE_NONE,
	FUNCTION_THROTTLE_UNWINDING, /* exceptions cost most: switch their events off */
	FUNCTION_THROTTLE_TRACE_ALL, /* trace everything again, to measure what it costs now */
};

/* A recording begins: nothing is throttled. */
void function_throttle_start(void);

/*
 * Examines an event, its kind and function (NULL: unknown), before it is recorded.
 * To be called when budget_due() returns true.  May throttle the function: note->throttled.
 */
enum function_throttle_order function_throttle_evaluate(struct ring *r, struct code_note *note,
							uint8_t kind);

/* No adapter needs this function at present (watched_function_is_paused()): throttles it like the
 * others. */
void function_throttle_pause(struct code_note *note);

/* The hook has done as ordered. */
void function_throttle_unwinding_off(void);
void function_throttle_all_traced(void);

/* TRACE_ALL is not possible: it would enable another tool's events as well. */
void function_throttle_never_trace_all(void);

extern uint32_t function_throttle_decisions; /* entries of the log */

/* Pushes the decisions that this ring lacks; to be called when ring.decisions_seen differs. */
void function_throttle_push_decisions(struct ring *r);

#endif
