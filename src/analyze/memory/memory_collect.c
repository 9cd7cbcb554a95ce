#include "analyze/memory/memory_collect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct memory_level memory_level(const struct series_table *st, uint32_t process, uint32_t kind,
				 uint32_t instance)
{
	const struct series *s = series_find(st, process, kind, instance);
	struct memory_level l = { .known = s != NULL };
	double length_ns;

	if (!s)
		return l;
	l.first = l.least = l.peak = s->values[0].value;
	l.last = s->values[s->count - 1].value;
	l.mean = (double)l.last;
	for (size_t i = 1; i < s->count; i++) {
		if (s->values[i].value < l.least)
			l.least = s->values[i].value;
		if (s->values[i].value > l.peak)
			l.peak = s->values[i].value;
	}
	length_ns = (double)(series_last_ns(s) - series_first_ns(s));
	if (s->count > 1)
		l.mean = 0;
	for (size_t i = 1; i < s->count; i++)
		l.mean += (double)s->values[i - 1].value *
			  ((double)(s->values[i].time_ns - s->values[i - 1].time_ns) / length_ns);
	return l;
}

struct memory_total memory_total(const struct series_table *st, uint32_t process, uint32_t kind,
				 uint32_t instance)
{
	const struct series *s = series_find(st, process, kind, instance);

	if (!s)
		return (struct memory_total){ 0 };
	/* Totals never fall and are never negative (series_table.h). */
	return (struct memory_total){
		.known = true,
		.sum = s->values[s->count - 1].value - s->values[0].value,
		.span_ns = series_last_ns(s) - series_first_ns(s),
	};
}

double memory_bits_share(const struct series *s, uint64_t bits)
{
	double in_ns = 0;

	if (s->count == 1)
		return ((uint64_t)s->values[0].value & bits) != 0;
	for (size_t i = 1; i < s->count; i++) {
		if ((uint64_t)s->values[i - 1].value & bits)
			in_ns += (double)(s->values[i].time_ns - s->values[i - 1].time_ns);
	}
	return in_ns / (double)(series_last_ns(s) - series_first_ns(s));
}

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
	memory_warnings_find(a);
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
