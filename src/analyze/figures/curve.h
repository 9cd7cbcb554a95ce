/*
 * What reports draw over time, small enough for a page however long the run was: intervals of
 * equal length, of each the least and the greatest value in it, so that a spike stays one.
 */
#ifndef ANALYZE_FIGURES_CURVE_H
#define ANALYZE_FIGURES_CURVE_H

#include <stddef.h>
#include <stdint.h>

struct analysis;
struct series_table;
struct step_items;

#define CURVE_BINS 600u
#define CURVE_STEPS 3u     /* kinds of steps that are drawn */
#define CURVE_PROCESSES 4u /* processes and devices whose memory is */
#define HISTOGRAM_BINS 40u

struct curve_bin {
	int64_t time_ns; /* of its first point */
	double low, high;
};

struct curve {
	int64_t start_ns, end_ns;
	size_t count; /* 0: nothing to draw */
	struct curve_bin bins[CURVE_BINS];
};

/* An empty curve between two moments; then its points, of which those outside are omitted. */
void curve_init(struct curve *c, int64_t start_ns, int64_t end_ns);
void curve_add(struct curve *c, int64_t time_ns, double value); /* time never falls */

/* How many durations were how long, in equal parts from the shortest to the 99th percentile. */
struct histogram {
	int64_t from_ns;
	double width_ns; /* of a part */
	size_t parts;    /* 0: nothing to draw; 1: all last the same */
	uint64_t counts[HISTOGRAM_BINS];
	uint64_t beyond; /* longer ones */
};

/* n durations in ascending order. */
void histogram_fill(struct histogram *h, const int64_t *sorted, size_t n);

/* The steps of a kind, without warm-up; in the order of the analysis' steps. */
struct step_curve {
	struct curve latency; /* at the steps' begins */
	struct histogram histogram;
};

struct analysis_curves {
	struct step_curve steps[CURVE_STEPS];
	/* Of the first ones of the analysis' memory. */
	struct curve rss[CURVE_PROCESSES];
	struct curve gpu_used[CURVE_PROCESSES];
};

/* Fills in what reports draw. */

/*
 * Needs a->run, a->steps and a->memory, and the items as steps_collect() left them: those of a
 * kind in order of time.  -1: out of memory.
 */
int curves_collect(struct analysis *a, const struct step_items *items,
		   const struct series_table *series);

#endif
