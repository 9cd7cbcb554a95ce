#include "analyze/cpu/crowd.h"

#include <math.h>

#include "analyze/analysis.h"

/* A fifth more threads than CPUs: less comes and goes by itself. */
#define CROWDED 1.2

/*
 * A program that had less of the CPUs lost the rest to others.  Then how long threads without
 * Python waited for a CPU can be taken from those with it only where there are many of them for
 * each CPU: a few may as well have had nothing to do.
 */
#define HAD_LEAST 0.6
#define MANY_THREADS 2 /* for each CPU, and more */

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
	const struct memory_step_figures *m;
	double on_cpu_ns = 0, queued_ns = 0;

	*c = (struct crowd){ .cpus = cpus_of(a) };
	for (size_t i = 0; i < a->thread_count; i++) {
		if (!a->threads[i].timed)
			continue;
		on_cpu_ns += (double)a->threads[i].on_cpu_ns;
		queued_ns += (double)a->threads[i].queued_ns;
	}
	m = a->step_count ? &a->steps[0].memory : NULL;
	if (!m || !m->cores_known || on_cpu_ns <= 0)
		return;
	c->runnable = m->cores * (on_cpu_ns + queued_ns) / on_cpu_ns;
	c->own = c->cpus > 0 && c->runnable > CROWDED * c->cpus &&
		 (m->cores > HAD_LEAST * c->cpus || m->threads > MANY_THREADS * c->cpus);
}
