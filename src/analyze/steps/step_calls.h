/*
 * Plain loops: which functions does a program without known models call again and again, for most
 * of its time?
 *
 * One walk adds up the calls of each function by the user's function that makes them.  A function
 * qualifies if one call of another makes more than two calls of it on average, or if a library
 * calls it (a handler, a pool's task), and if it takes a tenth of the process's time besides
 * waiting and lasts long enough to be a step.  Coroutines do not qualify, because the parts of a
 * call are not connected.  Nor do throttled functions, whose count is unknown.
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
