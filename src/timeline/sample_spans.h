/*
 * From samples to spans: looks in a row that found a function at the same depth of a
 * thread's stack, called from the same place, were one call of it, or several that
 * followed each other from there.
 *
 * When it began and ended is known to within error_ns: half of the time between the
 * look that found it first (last) and the one before (after).  Memory is bounded by
 * the depth of the stacks.
 */
#ifndef TIMELINE_SAMPLE_SPANS_H
#define TIMELINE_SAMPLE_SPANS_H

#include "timeline/sample_walk.h"
#include "timeline/timeline.h"

struct sampled_span {
	size_t thread;     /* position */
	uint32_t function; /* of the timeline */
	uint32_t depth;    /* functions below it */
	uint64_t looks;
	int64_t start_ns, end_ns;
	int64_t error_ns; /* of both */
	int64_t self_ns;  /* in which it was the innermost */
};

/* Hands over each span when it ends.  The timeline has been walked.  -1: no memory. */
int sample_spans_walk(const struct trace *t, struct timeline *tl,
		      void (*visit)(void *ctx, const struct sampled_span *s), void *ctx,
		      struct err *err);

#endif
