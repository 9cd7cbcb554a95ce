/* Fills in what steps spent their time on, and why the GPU was idle. */
#ifndef ANALYZE_BREAKDOWN_BREAKDOWN_COLLECT_H
#define ANALYZE_BREAKDOWN_BREAKDOWN_COLLECT_H

#include "analyze/analysis.h"
#include "analyze/cpu/sample_totals.h"
#include "analyze/figures/breakdown.h"
#include "analyze/steps/batching_sleeps.h"
#include "timeline/timeline.h"

/*
 * The breakdown of the first steps in a->steps, and the blame of all sections.  The items, which
 * are empty at first and the caller's to free, become those of a->step_items that it is of, in
 * another order; all of these get their groups.  Needs everything but the notes of the analysis.
 * -1: text set.
 */
int breakdown_collect(struct analysis *a, struct timeline *tl, struct step_items *items,
		      const struct sample_totals *samples, const struct batching_sleeps *sleeps,
		      const struct trace *t, struct err *err);

#endif
