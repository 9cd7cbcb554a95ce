/*
 * Tracing Python calls: sys.monitoring from 3.12 on, PyEval_SetProfile() before.
 *
 * Both record the same events (RECORD_CALL .. RECORD_UNWIND) into the ring of
 * the thread that runs the code.  The hooks never run Python code, never
 * release the GIL and leave a pending exception alone.  How they keep to the
 * overhead budget is their own matter: function_throttle.h, profile_throttle.h.
 */
#ifndef AGENT_PYTHON_CALLS_H
#define AGENT_PYTHON_CALLS_H

#include "agent/core/session.h"
#include "agent/overhead/budget.h"
#include "agent/python/codes.h"
#include "agent/python/watched_functions.h"

/* One of the two ways of hooking in. */
struct calls_hook {
	/* Checks whether this interpreter is as expected, from a function that Python called. */
	enum shm_refusal (*prepare)(void); /* NULL: nothing to check */
	enum shm_refusal (*start)(bool discover);
	void (*stop)(void);
};

extern const struct calls_hook calls_monitoring, calls_profile;

/* For a start that lies ahead: with the GIL, from a function that Python called. */
void calls_prepare(void);

/*
 * Starts tracing in this process, in all threads.  With the GIL, from a function
 * that Python called or after calls_prepare().
 */
enum shm_refusal calls_start(void);

/*
 * Calls are not recorded, but GPU work is to have its Python lines, and adapters (adapter.h)
 * are to see their functions: sees each other function once, to name it, and from then on
 * costs nothing (3.12 and later; before, nothing is seen and those lines stay unknown).
 */
enum shm_refusal calls_discover(void);
void calls_stop(void);

/*
 * Now and then, on a thread's way to its next event: the functions that it was in
 * when recording began, once, so that their ends have a beginning; its name.
 */
void calls_prepare_thread(struct ring *r, uint8_t kind);

/*
 * In a hook: records the functions that the calling thread is in, but not the one that it is just
 * entering, if it is.  Then the ring is in step.
 */
void calls_record_stack(struct ring *r, bool entering);

/* note: NULL where memory ran out; the function then has no name. */
static inline void calls_record(struct ring *r, uint8_t kind, const struct code_note *note)
{
	if (__builtin_expect(r->produced >= r->name_at, 0))
		calls_prepare_thread(r, kind);
	ring_push(r, kind, note ? note->id : 0);
	if (__builtin_expect(note && note->watch, 0))
		watched_function_event(r, note->watch, kind);
}

#endif
