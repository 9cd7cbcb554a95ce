#include "analyze/cpu/crowd.h"

#include <math.h>

#include "analyze/analysis.h"

/* A fifth more threads than CPUs: less comes and goes by itself. */
#define CROWDED 1.2

/* The container may allow less than the CPUs that there are. */
static double cpus_of(const struct analysis *a)
{
	const struct memory_level *limit = &a->memory.machine.cpu_limit;

	return limit->known ? fmin(a->run.cpus, (double)limit->peak / 1e3) : a->run.cpus;
}

/*
 * Threads without Python (OpenMP's, a runtime's) are known by the CPU time of their process alone:
 * they are taken to wait for a CPU as long as those with Python do.
 */
void crowd_measure(struct crowd *c, const struct analysis *a)
{
	double on_cpu_ns = 0, queued_ns = 0;

	*c = (struct crowd){ .cpus = cpus_of(a) };
	for (size_t i = 0; i < a->thread_count; i++) {
		if (!a->threads[i].timed)
			continue;
		on_cpu_ns += (double)a->threads[i].on_cpu_ns;
		queued_ns += (double)a->threads[i].queued_ns;
	}
	if (!a->step_count || !a->steps[0].memory.cores_known || on_cpu_ns <= 0)
		return;
	c->runnable = a->steps[0].memory.cores * (on_cpu_ns + queued_ns) / on_cpu_ns;
	c->own = c->cpus > 0 && c->runnable > CROWDED * c->cpus;
}
