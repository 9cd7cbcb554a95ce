/*
 * A line between bounds: the correction c(t) = offset + slope * t of a clock, of
 * which some pairs of events say "at least this much" and others "at most".
 *
 * Bounds are reduced to the tightest of each cell of time, so that memory does
 * not grow with them.  Some may be wrong: the line passes between as many cells'
 * bounds as it can, and in the middle of those it passes, where it is farthest
 * from being wrong.  A plain offset is taken unless a drift leaves far more room:
 * what a drift hides would make the bounds look closer than they are.
 */
#ifndef TIMELINE_CLOCK_FIT_H
#define TIMELINE_CLOCK_FIT_H

#include <stdbool.h>
#include <stddef.h>

#define CLOCK_CELLS 128u
#define CLOCK_TIGHTEST 8u    /* bounds kept of a cell and side */
#define CLOCK_SLOPE_MAX 1e-3 /* 1000 ppm: no working clock drifts that fast */

struct clock_bound {
	double t_ns, value_ns;
};

struct clock_side {
	struct clock_bound tightest[CLOCK_TIGHTEST]; /* the tightest first */
	size_t kept, seen;
};

struct clock_cells {
	double span_ns;
	bool trusting; /* else the tightest bounds of a cell with many are left out of account */
	struct clock_side below[CLOCK_CELLS], above[CLOCK_CELLS];
};

struct clock_line {
	double offset_ns, slope;
};

/* Times are between 0 and span_ns. */
void clock_cells_init(struct clock_cells *c, double span_ns, bool trusting);
void clock_cells_at_least(struct clock_cells *c, double t_ns, double value_ns);
void clock_cells_at_most(struct clock_cells *c, double t_ns, double value_ns);
struct clock_line clock_cells_fit(const struct clock_cells *c);

static inline double clock_line_at(const struct clock_line *l, double t_ns)
{
	return l->offset_ns + l->slope * t_ns;
}

#endif
