/*
 * Waits that nobody ended: a thread let a time pass although its work was there.
 *
 * What waits for a condition of Python's (a queue, an event, a future) goes on when another
 * thread of its process says so, in Condition.notify(), or when its own time is over.  The
 * former leaves a call in the trace, unless such calls are left out of it: then nothing is known
 * but of threads that wait themselves.  So where no other thread did anything just before, the time
 * was over; and if the thread then goes to work, instead of waiting again, what it works on had
 * been there: it gathered a batch, say.  One that polls an empty queue waits again.
 *
 * So have coroutines that sleep before a step (async_naps.h), while their event loop waits.
 */
#ifndef ANALYZE_OWN_WAITS_H
#define ANALYZE_OWN_WAITS_H

#include "analyze/analysis.h"
#include "analyze/async_naps.h"
#include "analyze/stack_class.h"
#include "analyze/step_items.h"
#include "analyze/thread_tracks.h"

struct own_waits {
	/*
	 * By position.  id of a piece: the function of the coroutine that slept, + 1, and more a
	 * stack that has it on its way to sleep (0: none was seen); id 0: none did.
	 */
	struct track *threads;
	size_t thread_count;
	uint32_t sleep; /* what coroutines sleep in: a function */
};

/* All are borrowed. */
struct own_waits_sources {
	const struct trace *trace;
	struct timeline *timeline; /* it has been walked */
	const struct gpu_timeline *gpu;
	const struct look_tracks *looks;
	struct stack_classes *classes;
	const struct step_items *items; /* by thread, then by start */
	const struct async_naps *naps;
};

/*
 * Of the threads whose looks are known.  Where calls were not recorded nothing is found.  -1: no
 * memory; release it nevertheless.
 */
int own_waits_find(struct own_waits *w, const struct own_waits_sources *from, struct err *err);
void own_waits_release(struct own_waits *w);

#endif
