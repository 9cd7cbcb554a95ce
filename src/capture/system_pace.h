/*
 * How much longer than they should be the periods of all sources are, so that the thread that
 * reads them takes less than a hundredth of a core, and less than half of that where no CPU is idle
 * (crowded): there the workload has to do without what we take.  One thread, which is the one that
 * is measured.
 */
#ifndef CAPTURE_SYSTEM_PACE_H
#define CAPTURE_SYSTEM_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct system_pace {
	double stretch; /* at least 1 */
	int64_t began_ns, cpu_began_ns;
	int64_t window_ns, window_cpu_ns; /* when the present window began */
	int64_t active_ns, cpu_ns;        /* after the end */
	bool held_back;
};

void system_pace_begin(struct system_pace *p, bool crowded);

/* What it is now; looks at the cost where a window is over. */
double system_pace_stretch(struct system_pace *p, int64_t now_ns, bool crowded);

/* A window in which the thread took this share of a core is over. */
void system_pace_adjust(struct system_pace *p, double share, bool crowded);

void system_pace_end(struct system_pace *p, int64_t now_ns);

#endif
