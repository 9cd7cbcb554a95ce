/*
 * Waits that end by timeout: a thread waited although its work was there.
 *
 * A wait for a Python condition (a queue, an event, a future) ends when another thread of the
 * process calls Condition.notify(), or when its timeout ends.  The former leaves a call in the
 * trace, unless such calls are throttled: then nothing is known except of threads that wait
 * themselves.  So if no other thread did anything just before, the wait timed out; and if the
 * thread then works instead of waiting again, its work was already there: it was collecting a
 * batch, for example.  A thread that polls an empty queue waits again.
 *
 * The same holds for coroutines that sleep before a step (batching_sleeps.h), while their event
 * loop waits.
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
