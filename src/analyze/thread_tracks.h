/*
 * What is known about a thread's time but for its Python calls and the device (device_work.h):
 * the CUDA calls, the looks of the sampler, and who else was at work.
 */
#ifndef ANALYZE_THREAD_TRACKS_H
#define ANALYZE_THREAD_TRACKS_H

#include "analyze/fault_marks.h"
#include "analyze/gpu_sections.h"
#include "analyze/track.h"
#include "base/err.h"
#include "format/trace.h"
#include "timeline/timeline.h"

/*
 * A thread's CUDA calls, and the way to those that start work: what an operator takes from
 * Python to its launch, or less where the call before it ended later.  Both with id: stack, more:
 * enum time_class.  -1: no memory.
 */
int call_tracks_fill(struct track *calls, struct track *ways, const struct gpu_timeline *g,
		     size_t thread);

/* The first call of a thread, or of a later one, that does not begin before a time. */
size_t call_track_find(const struct gpu_timeline *g, size_t thread, int64_t time_ns);

/*
 * When a thread was compiling, or waiting for a DataLoader's workers, as the agent was told by
 * PyTorch; more: enum time_class.  -1: no memory.
 */
int framework_track_fill(struct track *t, const struct timeline *tl, size_t thread);

#define BUSY_THREAD 0x7fffffffu /* bits of `more`: position; */
#define BUSY_GIL 0x80000000u    /* it had the GIL */

struct look_tracks {
	struct track *threads; /* by position; id: stack, more: enum sample_flag */
	/* By position: from the first to the last look in a row that found it waiting; more: the
	 * time between two of them, us. */
	struct track *waiting;
	size_t thread_count;
	struct track holders; /* who had a GIL; id: stack, more: BUSY_* */
	struct track running; /* somebody, anywhere, ran Python code; likewise */
	struct fault_marks faults;
};

/* Looks are kept of wanted[] threads.  -1: no memory; release it nevertheless. */
int look_tracks_fill(struct look_tracks *l, const struct trace *t, const bool *wanted,
		     struct err *err);
void look_tracks_release(struct look_tracks *l);

#endif
