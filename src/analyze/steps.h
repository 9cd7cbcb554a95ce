/*
 * Steps: what the user waits for, once per request or batch.  Here the scopes,
 * or NVTX's ranges of a domain, of one name in one process, but for those that a library opens;
 * where there are none, what repeats (step_finder.h), or else one part of the run (whole_run.h).
 *
 * The first is the one of most time without its warm-up; what is over before another one begins
 * that comes more often is set-up.
 *
 * Warm-up: the leading steps that last more than three times the median, and behind them those
 * that last longer than all that follow, half as long again as the median and far out (three
 * interquartile ranges above the third quartile), in a
 * series of at least five of which no two overlap.  They are left out of the
 * figures.  Steps that overlap are concurrent requests: none of them is warm-up.
 */
#ifndef ANALYZE_STEPS_H
#define ANALYZE_STEPS_H

#include "analyze/analysis.h"
#include "analyze/step_finder.h"
#include "analyze/step_items.h"
#include "analyze/step_sources.h"
#include "timeline/timeline.h"

/*
 * Fills in a->steps but for what they spent their time on, and tells which steps those
 * figures are to be made of; needs a->run and a->processes.  -1: out of memory.
 */
int steps_collect(struct analysis *a, struct timeline *tl, struct step_finder *finder,
		  const struct step_sources *from, const struct trace *t, struct step_items *items,
		  struct err *err);

#endif
