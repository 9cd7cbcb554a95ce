/*
 * What is known about a thread's time besides its Python calls and the device (step_sweep.h): CUDA
 * calls, samples, and the work of other threads.
 */
#ifndef ANALYZE_BREAKDOWN_THREAD_TRACKS_H
#define ANALYZE_BREAKDOWN_THREAD_TRACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/figures/track.h"
#include "analyze/gpu/gpu_sections.h"
#include "base/err.h"
#include "format/trace.h"
#include "timeline/sample_walk.h"
#include "timeline/timeline.h"

/*
 * Page faults with a time, of each process in order of time.  The kernel reports a part of them:
 * their distribution over threads and time is known, not their number.
 */

enum fault_kind { FAULT_MINOR, FAULT_MAJOR, FAULT_KINDS };

struct fault_mark {
	int64_t time_ns;
	uint32_t process; /* id */
	uint32_t thread;  /* position; trace_thread_count(): one without Python */
	uint32_t count;   /* of faults that it stands for */
	enum fault_kind kind;
};

struct fault_marks {
	struct fault_mark *items; /* by process, then by time, once sorted */
	size_t count, cap;
};

/* Those of a process; *count: how many follow each other. */
const struct fault_mark *fault_marks_of(const struct fault_marks *m, uint32_t process,
					size_t *count);

/*
 * A thread's CUDA calls, and the dispatch before those that start work: the time that an operator
 * takes from Python to its launch, or less if the call before it ended later.  Both with id:
 * stack, more: enum time_class.  They are windows; the source must stay where it is.
 */
struct call_source {
	const struct gpu_timeline *gpu;
	size_t thread, next; /* position; index of a call */
	int64_t until_ns;    /* when the calls before it had ended */
};

void calls_open(struct track *t, struct call_source *s, const struct gpu_timeline *g,
		size_t thread);
void ways_open(struct track *t, struct call_source *s, const struct gpu_timeline *g, size_t thread);

/*
 * When a thread was compiling, or waiting for a DataLoader's workers, as the agent recorded it;
 * more: enum time_class.  -1: no memory.
 */
int framework_track_fill(struct track *t, const struct timeline *tl, size_t thread);

/*
 * When its user's code called native functions of packages, where that is recorded; more:
 * TIME_FRAMEWORK or TIME_CPU_PREPROCESSING.
 */
int native_calls_track_fill(struct track *t, const struct timeline *tl, size_t thread);

#define BUSY_THREAD 0x7fffffffu /* bits of `more`: position; */
#define BUSY_GIL 0x80000000u    /* it had the GIL */

/* From the first sample to the last: what a sample stands for reaches beyond them. */
struct sample_times {
	int64_t first_ns, last_ns;
};

struct sample_times_list {
	struct sample_times *items;
	size_t cap;
};

struct sample_tracks {
	struct track *threads;           /* by position; id: stack, more: enum sample_flag */
	struct sample_times_list *times; /* likewise; one for each piece of the track */
	/* By position: from the first to the last sample in a row that found it waiting; more: the
	 * time between two of them, us. */
	struct track *waiting;
	/* By position: it was ready, and had no CPU for a millisecond or longer. */
	struct track *queued;
	bool absences; /* such times were watched for, of any thread */
	size_t thread_count;
	struct track holders; /* who had a GIL; id: stack, more: BUSY_* */
	struct track running; /* any thread of any process ran Python code; likewise */
	struct fault_marks faults;
};

/* Samples are kept of wanted[] threads.  -1: no memory; release it nevertheless. */
int sample_tracks_fill(struct sample_tracks *l, const struct trace *t, const bool *wanted,
		       struct err *err);
void sample_tracks_release(struct sample_tracks *l);

#endif
