/*
 * Sleeps of coroutines before they begin a step, while others wait for what it will bring.
 *
 * A service that gathers requests may sleep for a while before it takes up what has come
 * (asyncio.sleep()).  Its event loop is idle then, as it is without any load; but requests are in
 * flight: coroutines that were left waiting before the sleep was over, and go on as soon as the
 * step is done, before the loop waits again.  Their sleep is a part of the step.
 *
 * Known by calls: the function that sleeps is left with asyncio.sleep() inside it, and goes on
 * inside of that.  Where two calls of it sleep at once, which of them goes on is not known, and
 * nothing is concluded.
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

/* Walks over the threads of a program that sleeps so, once more.  -1: no memory. */
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
