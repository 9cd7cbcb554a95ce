/*
 * Figures of a series of steps: scopes of one name in one process, in order of time.
 *
 * Warm-up: the leading steps that last more than three times the median, and after them those that
 * last longer than all that follow, 1.5 times the median and are outliers (three interquartile
 * ranges above the third quartile), in a series of at least five of which no two overlap.  The
 * figures omit them.  Steps that overlap are concurrent requests: none of them is warm-up.
 */
#ifndef ANALYZE_STEPS_STEP_FIGURES_H
#define ANALYZE_STEPS_STEP_FIGURES_H

#include "analyze/analysis.h"
#include "analyze/gpu/gpu_steps.h"

#define WARMUP_SERIES 5 /* a shorter series has no detectable warm-up */

/* Puts scopes into the order of their series: by process, name, begin. */
void step_scopes_sort(struct step_scope *scopes, size_t n);
bool step_scopes_same_series(const struct scope *x, const struct scope *y);
const char *step_scope_domain(const struct scope *s); /* NULL: none of NVTX's */

/*
 * Sets name, source, count and latencies of the series in scopes[0..n); the other fields are 0.
 * durations and scratch have room for n values each.  False: none of them ended.
 */
bool step_figures_measure(struct analysis_step *s, const struct step_scope *scopes, size_t n,
			  int64_t *durations, int64_t *scratch);

/*
 * The time of the steps without their warm-up.  A series that is too short to detect it counts
 * with its median: a program often warms up with a loop of its own.
 */
double step_figures_steady_ns(const struct analysis_step *s);

/* Throughput and concurrency, into s->service; the rest of s is measured.  -1: no memory. */
int step_figures_service(struct analysis_step *s, const struct step_scope *scopes, size_t n);

#endif
