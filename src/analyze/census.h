/*
 * Counts what the walk over the timeline passes by: functions, collections,
 * marks, the values of counters and layers.
 */
#ifndef ANALYZE_CENSUS_H
#define ANALYZE_CENSUS_H

#include "analyze/analysis.h"
#include "analyze/counters.h"
#include "analyze/layer_census.h"
#include "analyze/sample_census.h"
#include "analyze/step_finder.h"
#include "base/idmap.h"
#include "timeline/timeline.h"

struct mark_tally {
	uint32_t name; /* string id */
	uint64_t count;
};

struct census {
	struct analysis_function *functions; /* by the timeline's index; no names yet */
	size_t function_cap;
	struct analysis_gc gc;
	struct mark_tally *marks; /* one for each name's id */
	size_t mark_count, mark_cap;
	struct counters counters;
	struct layer_census layers;
	struct step_finder finder;
	struct idmap mark_at; /* id -> position in marks */
	bool failed;          /* out of memory */
};

/* Both are borrowed; the GPU's sections are filled in before the walk. */
void census_init(struct census *c, const struct trace *t, const struct analysis_gpu *gpu);
void census_release(struct census *c);

/* Borrows both until the walk is over. */
struct timeline_visitor census_visitor(struct census *c, const struct timeline *tl);

/* Names, sorts and moves everything into the analysis.  -1: out of memory. */
int census_finish(struct census *c, struct analysis *a, const struct timeline *tl,
		  struct sample_census *samples, const struct trace *t);

#endif
