#include "analyze/curve.h"

#include "analyze/stats.h"

void curve_init(struct curve *c, int64_t start_ns, int64_t end_ns)
{
	c->start_ns = start_ns;
	c->end_ns = end_ns;
	c->count = 0;
}

/* Which stretch a moment is in; the end belongs to the last one. */
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
