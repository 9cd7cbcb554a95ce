/*
 * What the reader must know before believing the figures: how much is missing,
 * what was repaired, what was not measured.
 */
#ifndef ANALYZE_TRUST_H
#define ANALYZE_TRUST_H

#include "analyze/analysis.h"
#include "analyze/cpu/sample_totals.h"
#include "analyze/figures/series_table.h"
#include "timeline/timeline.h"

/* Fills in a->trust; needs a->threads, a->gpu and a->memory.  -1: out of memory. */
int trust_collect(struct analysis *a, const struct timeline *tl,
		  const struct sample_totals *samples, const struct series_table *series,
		  const struct trace *t);

#endif
