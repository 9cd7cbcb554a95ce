/*
 * Runs through the time of one thread after the other and gives every moment to one
 * class (partition.h says which), for the steps that lasted then, and for the gaps of
 * the GPU that the thread ended.
 *
 * Tracks and Python calls are all in order of time: one cursor runs through each, and
 * between two changes of any of them nothing changes.  Steps take the difference of
 * running sums, so that memory grows with those that last at the same time.
 */
#ifndef ANALYZE_STEP_SWEEP_H
#define ANALYZE_STEP_SWEEP_H

#include "analyze/device_work.h"
#include "analyze/fault_marks.h"
#include "analyze/idle_gaps.h"
#include "analyze/own_waits.h"
#include "analyze/stack_class.h"
#include "analyze/step_items.h"
#include "analyze/thread_tracks.h"
#include "analyze/time_places.h"

/* Time at a place, in the steps of one kind. */
struct place_sum {
	int64_t ns[STEP_GROUPS];      /* of the steps of each group */
	uint64_t faults[FAULT_KINDS]; /* that were seen there */
};

struct kind_sum {
	struct time_part parts[TIME_CLASSES];
	int64_t alone_ns; /* step_breakdown */
	size_t open[STEP_GROUPS];
	struct place_sum *places; /* by number */
	size_t place_cap;
	uint64_t faults[FAULT_KINDS]; /* of the process, that were seen while they lasted */
};

struct step_sweep {
	const struct trace *trace;
	struct timeline *timeline;
	const struct analysis *analysis;
	const struct step_items *items; /* by thread, then by start */
	struct look_tracks *looks;
	struct own_waits *own_waits;
	struct device_work *device;
	struct idle_gaps *gaps;
	struct time_places *places;
	struct stack_classes *classes;
	struct kind_sum *kinds;
	size_t kind_count, placed_count; /* the places of the first ones are counted */
};

/*
 * The items [first, last) are the thread's, perhaps none.  `own` leaves out what other threads
 * launched.  -1: no memory.
 */
int step_sweep_thread(struct step_sweep *s, size_t thread, size_t first, size_t last, bool own,
		      struct err *err);

#endif
