/*
 * Counters: the least, mean, greatest and last value of each, as the walk passes
 * them.  Memory is bounded by the number of names and processes.
 */
#ifndef ANALYZE_COUNTERS_H
#define ANALYZE_COUNTERS_H

#include "analyze/analysis.h"
#include "timeline/pair_map.h"
#include "timeline/timeline.h"

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

#endif
