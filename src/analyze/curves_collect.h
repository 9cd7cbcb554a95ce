/* Fills in what reports draw. */
#ifndef ANALYZE_CURVES_COLLECT_H
#define ANALYZE_CURVES_COLLECT_H

#include "analyze/analysis.h"
#include "analyze/series_table.h"
#include "analyze/step_items.h"

/*
 * Needs a->run, a->steps and a->memory, and the items as steps_collect() left them: those of a
 * kind in order of time.  -1: out of memory.
 */
int curves_collect(struct analysis *a, const struct step_items *items,
		   const struct series_table *series);

#endif
