/*
 * Traces of the ranks of one run side by side: a section for each, and which one is the slowest.
 *
 * As in diff a rank is copied out of its analysis: one trace is open at a time.
 */
#ifndef COMPARE_RANKS_H
#define COMPARE_RANKS_H

#include <stdio.h>

#include "analyze/analysis.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "report/report.h"

/* A kind of step of a rank. */
struct rank_step {
	const char *name;
	size_t count; /* warm-up included */
	double mean_ns;
	int64_t p50_ns, p95_ns;
};

struct rank {
	uint32_t number;
	bool guessed;     /* neither the trace nor its name says which rank it is */
	const char *path; /* without the folder */
	int64_t wall_ns;
	/* Of the process that used its GPU most; 0 without any. */
	int64_t span_ns, busy_ns, idle_ns, kernel_ns;
	int64_t collective_ns; /* of kernel_ns: of communication between ranks */
	uint64_t kernels;
	const char *bound;   /* of the verdict */
	const char *finding; /* title of the first one that is sure; NULL: none */
	bool partial;
	size_t step_count;
	struct rank_step *steps;   /* most important first */
	struct buf markdown, json; /* the whole report of this rank */
	struct arena texts;
};

/* What ranks differ in.  A figure of each rank; the slowest has the largest. */
struct rank_spread {
	bool known; /* at least two ranks have it */
	double mean_ns, most_ns, least_ns;
	size_t slowest, fastest; /* index of the rank */
};

struct ranks {
	struct rank *items; /* by number */
	size_t count, cap;
	const char *step; /* the kind of step that all ranks have; NULL: none */
	struct rank_spread step_time;
	struct rank_spread gpu_busy;
	struct rank_spread own_work; /* busy without communication: what the others wait for */
	struct notes notes;
};

void ranks_init(struct ranks *r);
void ranks_release(struct ranks *r);

/*
 * Of an analysis that was judged.  number: given by the trace, by the name of its file or else by
 * the caller.  -1: no memory.
 */
int ranks_add(struct ranks *r, const struct analysis *a, const char *name, uint32_t otherwise,
	      enum report_detail detail, struct err *err);

/* "rank3.json", "trace_rank-3_step5.json.gz"; false: the name of a file does not say. */
bool rank_of_name(const char *name, uint32_t *number);

/* Which rank a trace is of; false: neither it nor its name gives it. */
bool rank_of_trace(const struct trace *t, const char *name, uint32_t *number);

/* Once all are there. */
void ranks_compare(struct ranks *r);

/* The largest above the mean: 0.1 for 10 %; 0 where it is unknown. */
double rank_imbalance(const struct rank_spread *s);

/* The figure of a rank that step_time is made of; NULL: it has no such step. */
const struct rank_step *rank_step_of(const struct ranks *r, const struct rank *rank);

/* Writing them down; docs/schema/ranks.schema.json describes the JSON. */
int ranks_write(const struct ranks *r, const char *path, struct err *err);
int ranks_print(const struct ranks *r, FILE *out, const struct terminal_style *style);

#endif
