/* Fills in what steps spent their time on, and why the GPU was idle. */
#ifndef ANALYZE_PARTITION_COLLECT_H
#define ANALYZE_PARTITION_COLLECT_H

#include "analyze/analysis.h"
#include "analyze/async_naps.h"
#include "analyze/sample_census.h"
#include "analyze/step_items.h"
#include "timeline/timeline.h"

/*
 * The breakdown of the first steps in a->steps, and the blame of all sections.  The items
 * are those of the steps' first_item; they are put in another order.  Needs everything but the
 * notes of the analysis.  -1: text set.
 */
int partition_collect(struct analysis *a, struct timeline *tl, struct step_items *items,
		      const struct sample_census *samples, const struct async_naps *naps,
		      const struct trace *t, struct err *err);

#endif
