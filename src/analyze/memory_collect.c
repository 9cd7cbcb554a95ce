#include "analyze/memory_collect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MISSING_MAX 64u /* sources that are named; a hostile file may claim any number */

static int collect_missing(struct analysis_memory *m, const struct trace *t)
{
	m->missing = calloc(MISSING_MAX, sizeof(*m->missing));
	if (!m->missing)
		return -1;
	while (m->missing_count < MISSING_MAX &&
	       trace_info(t, "memory.missing", m->missing_count)) {
		m->missing[m->missing_count] = trace_info(t, "memory.missing", m->missing_count);
		m->missing_count++;
	}
	return 0;
}

/* -1: there is none, or it is no such number. */
static double fact(const struct trace *t, const char *key)
{
	const char *text = trace_info(t, key, 0);
	double value = text ? strtod(text, NULL) : -1;

	return isfinite(value) && value >= 0 ? value : -1;
}

static void collect_cost(struct analysis_memory *m, const struct trace *t)
{
	double share = fact(t, "memory.cpu_share"), start_ms = fact(t, "memory.gpu_start_ms");

	m->cost_known = share >= 0;
	m->cost_share = m->cost_known ? share : 0;
	m->gpu_start_ms = m->cost_known && start_ms > 0 ? start_ms : 0;
	m->held_back = fact(t, "memory.held_back") > 0;
}

int memory_collect(struct analysis *a, const struct memory_sources *m, const struct trace *t)
{
	struct analysis_memory *out = &a->memory;

	collect_cost(out, t);
	out->recorded = m->series->count > 0 || out->cost_known;
	if (collect_missing(out, t) || memory_processes_collect(out, m, t) ||
	    memory_gpus_collect(out, m->series, a->run.wall_ns))
		return -1;
	memory_machine_collect(&out->machine, m->series);
	memory_worries_find(a);
	return 0;
}

void analysis_memory_release(struct analysis_memory *m)
{
	for (size_t i = 0; i < m->process_count; i++)
		memory_process_release(&m->processes[i]);
	free(m->processes);
	free(m->gpus);
	free(m->lines);
	free(m->missing);
	memset(m, 0, sizeof(*m));
}
