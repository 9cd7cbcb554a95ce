/*
 * Tracing Python calls: sys.monitoring from 3.12 on, PyEval_SetProfile() before.
 *
 * Both record the same events (RECORD_CALL .. RECORD_UNWIND) into the ring of
 * the thread that runs the code.  The hooks never run Python code, never
 * release the GIL and leave a pending exception alone.  The overhead budget
 * will sit between a hook and ring_push(): both hooks go through calls_record().
 */
#ifndef AGENT_CALLS_H
#define AGENT_CALLS_H

#include "agent/codes.h"
#include "agent/session.h"
#include "agent/thread_names.h"
#include "agent/watch.h"

/* One of the two ways of hooking in. */
struct calls_hook {
	enum shm_refusal (*start)(bool discover);
	void (*stop)(void);
};

extern const struct calls_hook calls_monitoring, calls_profile;

/* Starts tracing in this process, in all threads.  With the GIL. */
enum shm_refusal calls_start(void);

/*
 * Calls are not recorded, but GPU work is to have its Python lines: sees each
 * function once, to name it, and from then on costs nothing (3.12 and later;
 * before, nothing is seen and those lines stay unknown).
 */
enum shm_refusal calls_discover(void);
void calls_stop(void);

/* note: NULL where memory ran out; the function then has no name. */
static inline void calls_record(struct ring *r, uint8_t kind, const struct code_note *note)
{
	if (__builtin_expect(r->produced >= r->name_at, 0))
		thread_name_look(r);
	ring_push(r, kind, note ? note->id : 0);
	if (__builtin_expect(note && note->watch, 0))
		watch_event(note->watch, kind);
}

#endif
