/*
 * Counts what the walk over the timeline visits: functions, collections, marks, the values of
 * counters and layers.
 */
#ifndef ANALYZE_CPU_FUNCTION_TOTALS_H
#define ANALYZE_CPU_FUNCTION_TOTALS_H

#include "analyze/analysis.h"
#include "analyze/cpu/layer_totals.h"
#include "analyze/cpu/sample_totals.h"
#include "analyze/steps/step_finder.h"
#include "base/idmap.h"
#include "timeline/pair_map.h"
#include "timeline/timeline.h"

/*
 * Counters: the least, mean, greatest and last value of each, as the walk passes
 * them.  Memory is bounded by the number of names and processes.
 */

struct counter_series {
	uint32_t process; /* id */
	uint32_t name;    /* string id */
	const char *text;
	uint64_t count;
	double min, max;
	double mean; /* so far */
	double last;
	int64_t last_ns;
};

struct counters {
	const struct trace *trace;
	struct counter_series *items;
	size_t count, cap;
	struct pair_map index; /* (process, name) */
};

/* The trace is borrowed. */
void counters_init(struct counters *c, const struct trace *t);
void counters_release(struct counters *c);

/* -1: no memory. */
int counters_add(struct counters *c, const struct annotation *a);
int counters_finish(struct counters *c, struct analysis *a);

struct mark_totals {
	uint32_t name; /* string id */
	uint64_t count;
};

struct function_totals {
	struct analysis_function *functions; /* by the timeline's index; no names yet */
	size_t function_cap;
	struct analysis_gc gc;
	struct mark_totals *marks; /* one for each name's id */
	size_t mark_count, mark_cap;
	struct counters counters;
	struct layer_totals layers;
	struct step_finder finder;
	struct idmap mark_at;          /* id -> position in marks */
	struct gpu_reader *gpu_reader; /* gets the events of the walk; owned; NULL: none does */
	bool failed;                   /* out of memory */
};

/* Both are borrowed; where there are layers, the GPU's sections are filled in before the walk. */
void function_totals_init(struct function_totals *c, const struct trace *t,
			  const struct analysis_gpu *gpu);
void function_totals_release(struct function_totals *c);

/* Borrows both until the walk is over. */
struct timeline_visitor function_totals_visitor(struct function_totals *c,
						const struct timeline *tl);

/* Names, sorts and moves everything into the analysis.  -1: out of memory. */
int function_totals_finish(struct function_totals *c, struct analysis *a, const struct timeline *tl,
			   struct sample_totals *samples, const struct trace *t);

#endif
