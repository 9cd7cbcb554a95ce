/*
 * Is Python code being interpreted at this moment, or does C code run?
 *
 * For the tender (tender.h), which has not got the GIL: only the thread that has it interprets, or
 * it is in a C function that its latest event called, or in an operator and the like: then it
 * stands at the same instruction of the same frame some time later.
 *
 * Memory that other threads change and free meanwhile is read through the kernel: what is gone is
 * an error there, not a crash.
 */
#ifndef AGENT_INTERPRETING_H
#define AGENT_INTERPRETING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum interpreting_state {
	INTERPRETING_KNOWN,
	INTERPRETING_UNDECIDED, /* who has the GIL does not run */
	INTERPRETING_UNKNOWN,   /* not with this interpreter, or the kernel refuses */
};

struct interpreting {
	const unsigned long *switches; /* how often the GIL changed hands; NULL: unknown */
	_Atomic uint64_t in_c;         /* as often as when the latest event called a C function */
};

#define INTERPRETING_NOT_IN_C UINT64_MAX

extern struct interpreting interpreting;

/* With the GIL, behind frames_init(). */
void interpreting_init(void);

/* A profile event of the calling thread; with the GIL. */
static inline void interpreting_event(bool calls_c)
{
	if (interpreting.switches)
		atomic_store_explicit(&interpreting.in_c,
				      calls_c ? *interpreting.switches : INTERPRETING_NOT_IN_C,
				      memory_order_relaxed);
}

/*
 * *share: of this moment, what is Python's; an estimate that is right on average.  It takes
 * microseconds.  If the thread does not run meanwhile, perhaps because it is we who have its CPU,
 * it is looked at again after a short sleep: an operator that is done by then counts as
 * Python's.  One thread at a time may ask.
 */
enum interpreting_state interpreting_look(double *share);

#endif
