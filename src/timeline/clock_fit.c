#include "timeline/gpu_tables.h"

#include <math.h>
#include <string.h>

#define SLACK_NS 0.5        /* a line through a bound keeps to it, rounding or not */
#define DRIFT_LEAVES 2.0    /* times the room that a plain offset leaves, or there is no drift */
#define OUTLIERS_ONE_IN 64u /* of a cell's bounds may be wrong when they are not trusted */

void clock_cells_init(struct clock_cells *c, double span_ns, bool trusting)
{
	memset(c, 0, sizeof(*c));
	c->span_ns = span_ns > 1 ? span_ns : 1;
	c->trusting = trusting;
}

static size_t cell_of(const struct clock_cells *c, double t_ns)
{
	double at = t_ns / c->span_ns * CLOCK_CELLS;

	if (!(at > 0))
		return 0;
	return at < CLOCK_CELLS - 1 ? (size_t)at : CLOCK_CELLS - 1;
}

/* sign 1: larger is tighter; -1: smaller. */
static void side_add(struct clock_side *s, double t_ns, double value_ns, double sign)
{
	size_t at = s->kept;

	s->seen++;
	while (at > 0 && sign * value_ns > sign * s->tightest[at - 1].value_ns)
		at--;
	if (at == CLOCK_TIGHTEST)
		return;
	if (s->kept < CLOCK_TIGHTEST)
		s->kept++;
	memmove(&s->tightest[at + 1], &s->tightest[at], (s->kept - at - 1) * sizeof(*s->tightest));
	s->tightest[at] = (struct clock_bound){ t_ns, value_ns };
}

void clock_cells_at_least(struct clock_cells *c, double t_ns, double value_ns)
{
	side_add(&c->below[cell_of(c, t_ns)], t_ns, value_ns, 1);
}

void clock_cells_at_most(struct clock_cells *c, double t_ns, double value_ns)
{
	side_add(&c->above[cell_of(c, t_ns)], t_ns, value_ns, -1);
}

/* The bounds that take part, one of each cell that has any; NULL where it has none. */
struct corridor {
	const struct clock_bound *below[CLOCK_CELLS], *above[CLOCK_CELLS];
};

static const struct clock_bound *side_bound(const struct clock_side *s, bool trusting)
{
	size_t rank = trusting ? 0 : s->seen / OUTLIERS_ONE_IN;

	if (!s->kept)
		return NULL;
	return &s->tightest[rank < s->kept ? rank : s->kept - 1];
}

static bool passes(const struct corridor *c, size_t cell, const struct clock_line *l)
{
	const struct clock_bound *below = c->below[cell], *above = c->above[cell];

	return !(below && clock_line_at(l, below->t_ns) < below->value_ns - SLACK_NS) &&
	       !(above && clock_line_at(l, above->t_ns) > above->value_ns + SLACK_NS);
}

static size_t count_passed(const struct corridor *c, const struct clock_line *l)
{
	size_t n = 0;

	for (size_t i = 0; i < CLOCK_CELLS; i++)
		n += passes(c, i, l);
	return n;
}

struct best {
	struct clock_line line;
	size_t passed;
};

/* Of two that pass as many cells, the one that changes less. */
static void try_line(const struct corridor *c, struct clock_line l, struct best *best)
{
	size_t passed = count_passed(c, &l);

	if (passed < best->passed)
		return;
	if (passed == best->passed && (fabs(l.slope) > fabs(best->line.slope) ||
				       (fabs(l.slope) >= fabs(best->line.slope) &&
					fabs(l.offset_ns) >= fabs(best->line.offset_ns))))
		return;
	*best = (struct best){ l, passed };
}

/* A line that passes most cells touches two bounds, or is flat and touches one. */
static struct clock_line most_passed(const struct corridor *c)
{
	const struct clock_bound *ends[2 * CLOCK_CELLS];
	struct best best = { { 0, 0 }, 0 };
	size_t n = 0;

	for (size_t i = 0; i < CLOCK_CELLS; i++) {
		if (c->below[i])
			ends[n++] = c->below[i];
		if (c->above[i])
			ends[n++] = c->above[i];
	}
	best.passed = count_passed(c, &best.line);
	for (size_t i = 0; i < n; i++)
		try_line(c, (struct clock_line){ ends[i]->value_ns, 0 }, &best);
	for (size_t i = 0; i < n && best.passed < CLOCK_CELLS; i++) {
		for (size_t k = i + 1; k < n; k++) {
			double dt = ends[k]->t_ns - ends[i]->t_ns;
			double slope = (ends[k]->value_ns - ends[i]->value_ns) / dt;

			if (dt > 0 && fabs(slope) <= CLOCK_SLOPE_MAX)
				try_line(c,
					 (struct clock_line){
						 ends[i]->value_ns - slope * ends[i]->t_ns, slope },
					 &best);
		}
	}
	return best.line;
}

/* What the offset may be for a slope; INFINITY where nothing bounds it. */
static void offsets_for(const struct corridor *c, double slope, double *low, double *high)
{
	*low = -INFINITY;
	*high = INFINITY;
	for (size_t i = 0; i < CLOCK_CELLS; i++) {
		if (c->below[i])
			*low = fmax(*low, c->below[i]->value_ns - slope * c->below[i]->t_ns);
		if (c->above[i])
			*high = fmin(*high, c->above[i]->value_ns - slope * c->above[i]->t_ns);
	}
}

static double width_for(const struct corridor *c, double slope)
{
	double low, high;

	offsets_for(c, slope, &low, &high);
	return high - low;
}

/* The slope of the widest corridor: the width is a concave function of the slope. */
static double widest_slope(const struct corridor *c)
{
	double left = -CLOCK_SLOPE_MAX, right = CLOCK_SLOPE_MAX;

	for (int i = 0; i < 100; i++) {
		double a = left + (right - left) / 3, b = right - (right - left) / 3;

		if (width_for(c, a) < width_for(c, b))
			left = a;
		else
			right = b;
	}
	return (left + right) / 2;
}

static double slope_needed(const struct corridor *c)
{
	double slope = widest_slope(c);

	return width_for(c, slope) > DRIFT_LEAVES * fmax(width_for(c, 0), 0) ? slope : 0;
}

static struct clock_line middle(const struct corridor *c)
{
	double slope = slope_needed(c);
	double low, high;

	offsets_for(c, slope, &low, &high);
	if (isinf(high))
		return (struct clock_line){ isinf(low) ? 0 : fmax(low, 0), 0 };
	if (isinf(low))
		return (struct clock_line){ fmin(high, 0), 0 };
	return (struct clock_line){ (low + high) / 2, slope };
}

struct clock_line clock_cells_fit(const struct clock_cells *cells)
{
	struct corridor c;
	struct clock_line l;

	for (size_t i = 0; i < CLOCK_CELLS; i++) {
		c.below[i] = side_bound(&cells->below[i], cells->trusting);
		c.above[i] = side_bound(&cells->above[i], cells->trusting);
	}
	l = most_passed(&c);
	for (size_t i = 0; i < CLOCK_CELLS; i++)
		if (!passes(&c, i, &l))
			c.below[i] = c.above[i] = NULL;
	return middle(&c);
}
