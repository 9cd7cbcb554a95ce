/*
 * Sleeps of coroutines before they begin a step, while other coroutines wait for its result.
 *
 * A service that collects requests may sleep for a while (asyncio.sleep()) before it processes
 * them.  Its event loop is idle then, as without load; but requests are in flight: coroutines that
 * were suspended before the sleep ended, and continue as soon as the step is done, before the loop
 * waits again.  The sleep is a part of the step.
 *
 * Detected from calls: the function that sleeps is left with asyncio.sleep() inside it, and
 * resumed inside of that.  If two calls of it sleep at the same time, it is unknown which one
 * continues, and neither is used.
 */
#ifndef ANALYZE_STEPS_BATCHING_SLEEPS_H
#define ANALYZE_STEPS_BATCHING_SLEEPS_H

#include "analyze/gpu/gpu_steps.h"
#include "analyze/steps/step_finder.h"
#include "timeline/timeline.h"

struct batching_sleep {
	uint32_t thread;          /* position */
	uint32_t function;        /* that slept, by its index; */
	uint32_t sleep;           /* and what it slept in */
	int64_t start_ns, end_ns; /* it slept */
	int64_t until_ns;         /* what went on then was left again */
	bool leads;               /* a step begins with it */
};

struct batching_sleeps {
	struct batching_sleep *items; /* by thread, then by time */
	size_t count, cap;
};

/* One more walk over the threads of a program that sleeps in this way.  -1: no memory. */
int batching_sleeps_find(struct batching_sleeps *n, struct timeline *tl, const struct trace *t,
			 struct err *err);
void batching_sleeps_release(struct batching_sleeps *n);

/* Of each kind of steps the first one after a sleep begins with it; notes which sleeps lead to one.
 */
void batching_sleeps_extend_steps(const struct batching_sleeps *n, struct found_steps *found);

/* Requests that wait for such a sleep already have it inside of them: notes which sleeps those are.
 */
void batching_sleeps_in_requests(const struct batching_sleeps *n, const struct step_scope *requests,
				 size_t count);

#endif
