/*
 * Waits that nobody ended: a thread let a time pass although its work was there.
 *
 * What waits for a condition of Python's (a queue, an event, a future) goes on when another
 * thread of its process reports it, in Condition.notify(), or when its own time is over.  The
 * former leaves a call in the trace, unless such calls are throttled: then nothing is known
 * but of threads that wait themselves.  So where no other thread did anything just before, the time
 * was over; and if the thread then goes to work, instead of waiting again, what it works on had
 * been there: it gathered a batch, say.  One that polls an empty queue waits again.
 *
 * So have coroutines that sleep before a step (batching_sleeps.h), while their event loop waits.
 */
#ifndef ANALYZE_BREAKDOWN_TIMED_WAITS_H
#define ANALYZE_BREAKDOWN_TIMED_WAITS_H

#include "analyze/analysis.h"
#include "analyze/breakdown/thread_tracks.h"
#include "analyze/classes/stack_class.h"
#include "analyze/figures/breakdown.h"
#include "analyze/steps/batching_sleeps.h"

struct timed_waits {
	/*
	 * By position.  id of a piece: the function of the coroutine that slept, + 1, and more a
	 * stack that has it on its way to sleep (0: none was seen); id 0: none did.
	 */
	struct track *threads;
	size_t thread_count;
	uint32_t sleep; /* what coroutines sleep in: a function */
};

/* All are borrowed. */
struct timed_waits_sources {
	const struct trace *trace;
	struct timeline *timeline; /* it has been walked */
	const struct gpu_timeline *gpu;
	const struct sample_tracks *samples;
	struct stack_classes *classes;
	const struct step_items *items; /* by thread, then by start */
	const struct batching_sleeps *sleeps;
};

/*
 * Of the threads whose samples are known.  Where calls were not recorded nothing is found.  -1: no
 * memory; release it nevertheless.
 */
int timed_waits_find(struct timed_waits *w, const struct timed_waits_sources *from,
		     struct err *err);
void timed_waits_release(struct timed_waits *w);

#endif
