/*
 * Why the GPU of a process had nothing to do.
 *
 * Each gap between two stretches of work ends with an activity that some thread
 * launched: what that thread did meanwhile is why the device waited.  Gaps, or parts
 * of them, in which the thread waited for work that nobody was at (an event loop
 * without events, an empty queue, a pause of its own outside of all marked steps) are
 * no load and nobody's fault.
 *
 * no_load_ns + unexplained_ns + the ns of all items = idle_ns of the section.
 */
#ifndef ANALYZE_IDLE_BLAME_H
#define ANALYZE_IDLE_BLAME_H

#include "analyze/partition.h"

struct idle_cause {
	/* TIME_LAUNCH with latency set: the launch had been made, the device began later. */
	enum time_class what;
	bool latency;
	/* As in struct time_cause. */
	struct analysis_place where, inner, waited_for;
	int64_t ns, inner_ns;
	int64_t in_steps_ns; /* of it, while a step of the process' most important kind lasted */
	uint64_t gaps;       /* that have such a part */
	int64_t longest_ns;  /* of its parts */
};

struct idle_blame {
	int64_t no_load_ns;
	int64_t unexplained_ns; /* the launch, or what its thread did, is unknown */
	size_t steps; /* of the process' most important kind, in the time of the section */
	size_t count;
	struct idle_cause *items; /* most time in steps first, then most time */
};

/* Without what is told of gaps only. */
struct time_cause idle_time_cause(const struct idle_cause *c);

/* "cpu_preprocessing", "launch_latency": as in report.json. */
const char *idle_cause_name(const struct idle_cause *c);

#endif
