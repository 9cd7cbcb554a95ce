/*
 * Functions by samples, where the trace does not have their calls: what was omitted of it or
 * happened while it paused, so that what takes long is on the timeline.
 *
 * consecutive samples that found a function at the same depth of a thread's stack, called from the
 * same place, were one call of it, or several that followed each other from there.  When it began
 * and ended is known to within error_ns: half of the time between the sample that found it first
 * (last) and the one before (after).  What was found once only is omitted.  Memory is bounded by
 * the depth of the stacks and the number of functions.
 */
#ifndef TIMELINE_SAMPLED_SPANS_H
#define TIMELINE_SAMPLED_SPANS_H

#include "timeline/sample_walk.h"
#include "timeline/timeline.h"

struct sampled_span {
	size_t thread;       /* position */
	uint32_t function;   /* of the timeline */
	uint32_t depth;      /* functions below it */
	uint32_t begun_with; /* of those, which began at the same moment */
	uint64_t samples;
	int64_t start_ns, end_ns;
	int64_t error_ns; /* of both */
	int64_t self_ns;  /* in which it was the innermost */
};

/* What the trace has of calls, so that samples do not repeat it. */
struct traced_calls {
	struct traced_function *functions;
	size_t function_cap;
	struct pause *pauses; /* thread by thread, in order of time */
	size_t pause_count, pause_cap;
	bool failed; /* out of memory */
};

void traced_calls_release(struct traced_calls *k);

/* For a visitor of the events, before any sampled span is asked for. */
void traced_calls_add_span(struct traced_calls *k, const struct span *s);
void traced_calls_add_throttled(struct traced_calls *k, const struct throttled *l);
void traced_calls_add_pause(struct traced_calls *k, const struct pause *p);
/* The three of them; nothing else is visited. */
struct timeline_visitor traced_calls_visitor(struct traced_calls *k);

struct sampled_spans;

/*
 * Those that the trace does not have, each when it ends; all are borrowed.  The timeline has been
 * walked.  next: 1, perhaps after some visits; 0: the end; -1: no memory.
 */
int sampled_spans_new(struct sampled_spans **out, const struct trace *t, struct timeline *tl,
		      const struct traced_calls *traced,
		      void (*visit)(void *ctx, const struct sampled_span *s), void *ctx,
		      struct err *err);
int sampled_spans_next(struct sampled_spans *s, struct err *err);
void sampled_spans_free(struct sampled_spans *s); /* NULL is a no-op */

#endif
