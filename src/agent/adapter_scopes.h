/*
 * Stretches of work that an adapter names, such as a wait for data: scopes like the user's,
 * which begin and end with a watched function.
 *
 * In the thread that calls the function, with the GIL, while its frame is the newest.  The end
 * of a function that was left by an exception may not be told: it is found by its frame, which is
 * gone, at the latest when adapter_scopes_look() is called.  Before 3.12, where
 * calls are recorded in bursts, ends would be missed for good: nothing is recorded there.
 */
#ifndef AGENT_ADAPTER_SCOPES_H
#define AGENT_ADAPTER_SCOPES_H

#include "agent/args.h"
#include "agent/session.h"

/* name: a str, for ever; args: may be NULL. */
void adapter_scope_begin(struct ring *r, PyObject *name, const struct args *args);
void adapter_scope_end(struct ring *r);
void adapter_scope_end_with(struct ring *r, const struct args *args); /* known only now */

/*
 * A number for whoever began the scope in the newest frame, 0 at first; until the next call of any
 * of these.  NULL: there is no such scope.
 */
uint32_t *adapter_scope_note(struct ring *r);

/* When another watched function begins. */
void adapter_scopes_look_slow(struct ring *r);

static inline void adapter_scopes_look(struct ring *r)
{
	if (r->scopes)
		adapter_scopes_look_slow(r);
}

#endif
