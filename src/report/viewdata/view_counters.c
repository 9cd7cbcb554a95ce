/* What is drawn as curves: memory, devices, the queue of the device, the user's counters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/figures/series_table.h"
#include "analyze/gpu/gpu_sections.h"
#include "base/array.h"
#include "report/viewdata/view_parts.h"

#define COUNTERS_MAX 48u

static const struct {
	uint32_t kind; /* enum series_kind */
	const char *name, *unit;
} drawn[] = {
	{ SERIES_RSS, "Resident memory", "B" },
	{ SERIES_GPU_MEMORY_USED, "GPU memory in use", "B" },
	{ SERIES_TORCH_ALLOCATED, "PyTorch memory allocated", "B" },
	{ SERIES_TORCH_RESERVED, "PyTorch memory reserved", "B" },
	{ SERIES_GPU_SM_CLOCK, "GPU clock", "MHz" },
	{ SERIES_GPU_POWER, "GPU power", "mW" },
	{ SERIES_GPU_TEMPERATURE, "GPU temperature",
	  "\xc2\xb0"
	  "C" },
	{ SERIES_GPU_BUSY, "GPU busy (NVML)", "%" },
	{ SERIES_THREADS, "Threads", "" },
	{ SERIES_CGROUP_MEMORY, "Container memory", "B" },
};

/* NULL: no memory, or enough of them. */
static struct curve *add_counter(struct view *v, uint32_t name, const char *unit, uint32_t process)
{
	struct view_counter *grown;

	if (v->counter_count >= COUNTERS_MAX)
		return NULL;
	grown = array_grow(v->counters, &v->counter_cap, v->counter_count + 1, sizeof(*grown));
	if (!grown) {
		v->rows.failed = true;
		return NULL;
	}
	v->counters = grown;
	grown += v->counter_count++;
	grown->name = name;
	grown->unit = view_string(&v->names, unit);
	grown->process = process;
	curve_init(&grown->curve, 0, v->rows.end_ns);
	return &grown->curve;
}

static void add_series(struct view *v, const struct series *s, const char *name, const char *unit)
{
	char text[64];
	struct curve *c;
	uint32_t process = s->process ? (uint32_t)process_position(v->t, s->process) + 1 : 0;

	if (process > trace_process_count(v->t))
		return; /* one that was only observed */
	if (s->kind >= SERIES_GPU_MEMORY_USED)
		snprintf(text, sizeof(text), "%s, device %u", name, s->instance);
	else
		snprintf(text, sizeof(text), "%s", name);
	c = add_counter(v, view_string(&v->names, text), unit, process);
	for (size_t i = 0; c && i < s->count; i++)
		curve_add(c, s->values[i].time_ns, (double)s->values[i].value);
}

static int collect_series(struct view *v)
{
	struct series_table table = { 0 };
	struct err err;
	int rc = series_table_read(&table, v->t, &err);

	for (size_t k = 0; !rc && k < sizeof(drawn) / sizeof(*drawn); k++)
		for (size_t i = 0; i < table.count; i++)
			if (table.items[i].kind == drawn[k].kind)
				add_series(v, &table.items[i], drawn[k].name, drawn[k].unit);
	series_table_release(&table);
	return rc;
}

static int by_counter_and_time(const void *a, const void *b)
{
	const struct view_value *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static void add_users(struct view *v)
{
	struct curve *c = NULL;

	if (v->value_count)
		qsort(v->values, v->value_count, sizeof(*v->values), by_counter_and_time);
	for (size_t i = 0; i < v->value_count; i++) {
		const struct view_value *x = &v->values[i];

		if (!i || x[-1].name != x->name || x[-1].process != x->process)
			c = add_counter(v, x->name, "", x->process);
		if (c)
			curve_add(c, x->time_ns, x->value);
	}
}

static size_t bin_at(const struct curve *c, int64_t time_ns)
{
	double share = (double)(time_ns - c->start_ns) / (double)(c->end_ns - c->start_ns + 1);

	return share <= 0 ? 0 : share >= 1 ? CURVE_BINS - 1 : (size_t)(share * CURVE_BINS);
}

/* Work that was launched and has not ended, at the end of each of the curve's intervals. */
static int add_queue(struct view *v, const struct gpu_section *s)
{
	const struct gpu_timeline *g = v->a->gpu.timeline;
	int64_t *change, waiting = 0;
	struct curve *c =
		add_counter(v, view_string(&v->names, "GPU queue (launched, not finished)"), "",
			    (uint32_t)process_position(v->t, s->process) + 1);

	if (!c)
		return 0;
	change = calloc(CURVE_BINS + 1, sizeof(*change));
	if (!change)
		return -1;
	curve_init(c, s->first_ns, s->last_ns);
	for (size_t i = 0; i < gpu_activity_count(g); i++) {
		const struct gpu_activity *a = gpu_activity(g, i);

		if (!a->timed || !a->linked || gpu_activity_work(g, a)->process != s->process)
			continue;
		change[bin_at(c, gpu_call(g, gpu_activity_call(a))->start_ns)]++;
		change[bin_at(c, a->end_ns)]--;
	}
	for (size_t i = 0; i < CURVE_BINS; i++) {
		double share = ((double)i + 0.5) / CURVE_BINS;

		waiting += change[i];
		curve_add(c, s->first_ns + (int64_t)((double)(s->last_ns - s->first_ns) * share),
			  waiting > 0 ? (double)waiting : 0);
	}
	free(change);
	return 0;
}

int view_counters_collect(struct view *v)
{
	for (size_t i = 0; i < v->a->gpu.section_count; i++)
		if (v->a->gpu.sections[i].interval_count && add_queue(v, &v->a->gpu.sections[i]))
			return -1;
	if (collect_series(v))
		return -1;
	add_users(v);
	return v->rows.failed || v->names.failed ? -1 : 0;
}
