/*
 * Which functions are traced no longer because the budget is overdrawn; for
 * CPython 3.12 and later, where the events of single functions can be switched off.
 *
 * Overdrawn, every event is looked at.  A census of some events tells which
 * functions cause most of them; in the purge after it each of these is left out
 * when its next event arrives.  Rounds follow for less and less frequent
 * functions until recording costs no more than time earns.  So the functions that go
 * are those of many short calls: one that takes milliseconds cannot have many
 * events in a census.
 *
 * All threads must hear of it, because the ends of a left-out function's open
 * calls never come: a log of what was decided, of which every ring gets the part
 * that it does not have yet before its next event.
 *
 * All functions need the GIL.
 */
#ifndef AGENT_LEAVE_OUT_H
#define AGENT_LEAVE_OUT_H

#include "agent/codes.h"

/* What the hook is to do. */
enum leave_out_order {
	LEAVE_OUT_GO_ON,
	LEAVE_OUT_UNWINDING, /* exceptions are what costs: leave their events off */
	LEAVE_OUT_EXAMINE,   /* everything may be traced again: see what it costs now */
};

/* A recording begins: nothing is left out. */
void leave_out_start(void);

/*
 * Looks at an event, its kind and function (NULL: unknown), before it is recorded.
 * To be called when budget_due() says so.  May leave the function out:
 * note->left_out.
 */
enum leave_out_order leave_out_look(struct ring *r, struct code_note *note, uint8_t kind);

/* Nobody wants to hear of this function for a while (watch_rests()): it is left out like the
 * others. */
void leave_out_watched(struct code_note *note);

/* The hook has done as ordered. */
void leave_out_unwinding_is_off(void);
void leave_out_everything_is_on(void);

/* The hook cannot examine, now or ever: another tool's places would be switched on, too. */
void leave_out_never_examine(void);

extern uint32_t leave_out_said; /* entries of the log */

/* Pushes what this ring has not heard yet; to be called when ring.heard differs from it. */
void leave_out_tell(struct ring *r);

#endif
