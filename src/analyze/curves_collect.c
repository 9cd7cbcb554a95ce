#include "analyze/curves_collect.h"

#include <stdlib.h>

#include "analyze/stats.h"
#include "format/series.h"

static int draw_steps(struct step_curve *c, const struct analysis_step *s,
		      const struct step_item *items)
{
	size_t n = s->item_count;
	int64_t *sorted = calloc(n + 1, sizeof(*sorted));

	if (!sorted)
		return -1;
	curve_init(&c->latency, items[0].start_ns, items[n - 1].start_ns);
	for (size_t i = 0; i < n; i++) {
		sorted[i] = items[i].end_ns - items[i].start_ns;
		curve_add(&c->latency, items[i].start_ns, (double)sorted[i]);
	}
	stats_sort(sorted, n);
	histogram_fill(&c->histogram, sorted, n);
	free(sorted);
	return 0;
}

/* A value that stays has two points (format/trace.h): straight lines between them are right. */
static void draw_series(struct curve *c, const struct series *s, int64_t wall_ns)
{
	if (!s)
		return;
	curve_init(c, 0, wall_ns);
	for (size_t i = 0; i < s->count; i++)
		curve_add(c, s->values[i].time_ns, (double)s->values[i].value);
}

int curves_collect(struct analysis *a, const struct step_items *items,
		   const struct series_table *series)
{
	struct analysis_curves *c = calloc(1, sizeof(*c));
	const struct analysis_memory *m = &a->memory;

	a->curves = c;
	if (!c)
		return -1;
	for (size_t i = 0; i < a->step_count && i < CURVE_STEPS; i++) {
		const struct analysis_step *s = &a->steps[i];

		/* One step is neither a course nor a distribution. */
		if (s->item_count > 1 && draw_steps(&c->steps[i], s, &items->items[s->first_item]))
			return -1;
	}
	for (size_t i = 0; i < m->process_count && i < CURVE_PROCESSES; i++)
		draw_series(&c->rss[i], series_find(series, m->processes[i].process, SERIES_RSS, 0),
			    a->run.wall_ns);
	for (size_t i = 0; i < m->gpu_count && i < CURVE_PROCESSES; i++)
		draw_series(&c->gpu_used[i],
			    series_find(series, 0, SERIES_GPU_MEMORY_USED, m->gpus[i].device),
			    a->run.wall_ns);
	return 0;
}
