/*
 * Plain loops: which functions does a program without known models call again and again, and for
 * most of its time?
 *
 * One walk adds up the calls of each function by the user's function that makes them.  A function
 * qualifies that one call of another makes more than twice on average, or that a library calls
 * (a handler, a pool's task), that takes a tenth of what the process does besides waiting, and
 * lasts long enough to be a step.  Coroutines do not: their calls are told in pieces that nothing
 * joins.  Nor does what was throttled, since its number is unknown.
 */
#ifndef ANALYZE_STEPS_STEP_CALLS_H
#define ANALYZE_STEPS_STEP_CALLS_H

#include "timeline/timeline.h"

struct step_calls {
	bool *chosen; /* by function */
	size_t count; /* of functions */
	bool any;
};

/* -1: no memory; release it nevertheless. */
int step_calls_choose(struct step_calls *c, struct timeline *tl, const struct trace *t);
void step_calls_release(struct step_calls *c);

#endif
