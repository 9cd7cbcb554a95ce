/*
 * What threads did, from samples: consecutive samples with the same state form an interval.  Its
 * start and end are known to within error_ns: half of the time between the last sample of another
 * state and the first of this one.
 */
#ifndef EXPORT_THREAD_INTERVALS_H
#define EXPORT_THREAD_INTERVALS_H

#include "base/err.h"
#include "timeline/sample_walk.h"

struct thread_interval {
	size_t thread; /* position */
	enum sample_state state;
	uint64_t lock; /* what it waited for; 0: unknown */
	int64_t start_ns, end_ns, error_ns;
};

const char *thread_state_name(enum sample_state state); /* "gil_wait" */
const char *sample_state_frame(unsigned state); /* enum sample_state: "(waits for the GIL)" */

/* Those of a thread in order, of different threads in any.  -1: no memory. */
int thread_intervals_walk(const struct trace *t,
			  void (*visit)(void *ctx, const struct thread_interval *i), void *ctx,
			  struct err *err);

#endif
