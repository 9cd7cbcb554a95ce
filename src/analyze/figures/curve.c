#include "analyze/figures/curve.h"

#include <stdlib.h>

#include "analyze/analysis.h"
#include "analyze/figures/breakdown.h"
#include "analyze/figures/series_table.h"
#include "analyze/figures/stats.h"
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

void curve_init(struct curve *c, int64_t start_ns, int64_t end_ns)
{
	c->start_ns = start_ns;
	c->end_ns = end_ns;
	c->count = 0;
}

/* Which interval a moment is in; the end belongs to the last one. */
static size_t bin_of(const struct curve *c, int64_t time_ns)
{
	double share = (double)(time_ns - c->start_ns) / (double)(c->end_ns - c->start_ns);
	size_t bin = (size_t)(share * CURVE_BINS);

	return bin < CURVE_BINS ? bin : CURVE_BINS - 1;
}

void curve_add(struct curve *c, int64_t time_ns, double value)
{
	struct curve_bin *last = c->count ? &c->bins[c->count - 1] : NULL;

	if (time_ns < c->start_ns || time_ns > c->end_ns || c->end_ns <= c->start_ns ||
	    (last && time_ns < last->time_ns))
		return;
	if (!last || bin_of(c, last->time_ns) != bin_of(c, time_ns)) {
		c->bins[c->count++] = (struct curve_bin){ time_ns, value, value };
		return;
	}
	if (value < last->low)
		last->low = value;
	if (value > last->high)
		last->high = value;
}

void histogram_fill(struct histogram *h, const int64_t *sorted, size_t n)
{
	int64_t to_ns;

	*h = (struct histogram){ 0 };
	if (!n)
		return;
	to_ns = stats_percentile(sorted, n, 0.99);
	h->from_ns = sorted[0];
	h->parts = to_ns > sorted[0] ? HISTOGRAM_BINS : 1;
	h->width_ns = (double)(to_ns - sorted[0]) / (double)h->parts;
	for (size_t i = 0; i < n; i++) {
		size_t part = h->parts == 1
				      ? 0
				      : (size_t)((double)(sorted[i] - h->from_ns) / h->width_ns);

		if (sorted[i] > to_ns)
			h->beyond++;
		else
			h->counts[part < h->parts ? part : h->parts - 1]++;
	}
}
