/*
 * Naps of coroutines before they begin a step, while others wait for what it will bring.
 *
 * A service that gathers requests may sleep for a while before it takes up what has come
 * (asyncio.sleep()).  Its event loop is idle then, as it is without any load; but requests are in
 * flight: coroutines that were left waiting before the nap was over, and go on as soon as the
 * step is done, before the loop waits again.  Their nap is a part of the step.
 *
 * Known by calls: the function that sleeps is left with asyncio.sleep() inside it, and goes on
 * inside of that.  Where two calls of it sleep at once, which of them goes on is not known, and
 * nothing is concluded.
 */
#ifndef ANALYZE_ASYNC_NAPS_H
#define ANALYZE_ASYNC_NAPS_H

#include "analyze/step_finder.h"
#include "timeline/timeline.h"

struct async_nap {
	uint32_t thread;          /* position */
	uint32_t function;        /* that slept, by its index; */
	uint32_t sleep;           /* and what it slept in */
	int64_t start_ns, end_ns; /* it slept */
	int64_t until_ns;         /* what went on then was left again */
	bool leads;               /* a step begins with it */
};

struct async_naps {
	struct async_nap *items; /* by thread, then by time */
	size_t count, cap;
};

/* Walks over the threads of a program that sleeps so, once more.  -1: no memory. */
int async_naps_find(struct async_naps *n, struct timeline *tl, const struct trace *t,
		    struct err *err);
void async_naps_release(struct async_naps *n);

/* Of each kind of steps the first one after a nap begins with it; notes which naps lead to one. */
void async_naps_stretch(const struct async_naps *n, struct found_steps *found);

#endif
