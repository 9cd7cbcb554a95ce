/*
 * How much longer than they should be the periods of all sources are, so that the thread that
 * reads them takes less than a hundredth of a core, and less than half of that where no CPU is idle
 * (crowded): there the workload has to do without what we take.
 *
 * What comes but once, the start of NVML, takes as much in an instant as all else in many seconds.
 * It is in the account, and says nothing about the next look: all periods are longer until it is
 * made up for.  A recording that ends before has taken more than it should, and says so.
 *
 * Times are CLOCK_MONOTONIC and the CPU time of the thread that reads, as it is at that time.
 */
#ifndef CAPTURE_SYSTEM_PACE_H
#define CAPTURE_SYSTEM_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct system_pace {
	double stretch; /* at least 1: by what looking took of late */
	bool paying;    /* what came once is not made up for yet */
	int64_t began_ns, cpu_began_ns;
	int64_t window_ns, window_cpu_ns; /* when the present window began */
	int64_t once_ns;                  /* of CPU time: what came but once */
	int64_t active_ns, cpu_ns;        /* after the end */
	bool held_back;
};

void system_pace_begin(struct system_pace *p, int64_t now_ns, int64_t cpu_ns, bool crowded);

/* What it is now; looks at the cost where a window is over. */
double system_pace_stretch(struct system_pace *p, int64_t now_ns, int64_t cpu_ns, bool crowded);

/* Of the CPU time so far `once_ns` were spent just now, and will not be again. */
void system_pace_once(struct system_pace *p, int64_t now_ns, int64_t cpu_ns, int64_t once_ns);

/* A window in which the thread took this share of a core is over. */
void system_pace_adjust(struct system_pace *p, double share, bool crowded);

void system_pace_end(struct system_pace *p, int64_t now_ns, int64_t cpu_ns);

#endif
