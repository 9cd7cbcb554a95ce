/*
 * Functions by samples: how often each was found running, itself or something that it called, and
 * on which lines.
 */
#ifndef ANALYZE_CPU_SAMPLE_TOTALS_H
#define ANALYZE_CPU_SAMPLE_TOTALS_H

#include "analyze/analysis.h"
#include "base/idmap.h"
#include "timeline/pair_map.h"
#include "timeline/sample_walk.h"
#include "timeline/timeline.h"

/* By the timeline's index of functions. */
struct sample_sums {
	uint64_t samples;      /* that found it, or what it called */
	uint64_t self_samples; /* that found itself */
	int64_t self_ns, total_ns;
	int64_t waiting_ns;  /* of self_ns, asleep in the kernel, but not for the GIL */
	int64_t doubtful_ns; /* of self_ns, by samples whose innermost function is uncertain */
	uint64_t folded;     /* samples of what is throttled: there it is in this one's time */
	uint64_t met;        /* the last sample that it was counted for */
};

struct sample_line {
	uint32_t function, line;
	uint64_t samples;
	int64_t self_ns;
};

struct sample_interval {
	int64_t from_ns, until_ns;
};

struct sample_totals {
	const struct trace *trace;
	struct timeline *timeline;
	struct sample_interval within; /* where only a part is counted */
	struct sample_sums *functions;
	size_t function_cap;
	struct sample_line *lines;
	size_t line_count, line_cap;
	struct pair_map line_at;                /* (function, line): position */
	struct idmap line_of;                   /* of the innermost frame, by stack */
	int64_t *thread_ns;                     /* inside any function, by position */
	uint64_t visited;                       /* so far */
	uint64_t samples, unstable;             /* with a stack */
	int64_t all_ns;                         /* that they stand for */
	int64_t throttled_ns;                   /* of that, in throttled functions */
	const struct analysis_function *traced; /* by index; borrowed */
	size_t traced_count;
	struct sample_walk walk;
	bool failed; /* out of memory */
};

/*
 * Counts those of an interval, NULL: of the whole run.  After the walk over the events, of
 * which `traced` has the outcome, by the timeline's index of functions (NULL: nothing is throttled
 * ).  The trace and the timeline stay borrowed.  -1: no memory.
 */
int sample_totals_take(struct sample_totals *c, const struct trace *t, struct timeline *tl,
		       const struct sample_interval *within, const struct analysis_function *traced,
		       size_t traced_count, struct err *err);
void sample_totals_release(struct sample_totals *c);

/*
 * Does a function of a library only wait?  Idle threads are found in such functions; they are
 * recognized by the states of their samples, not by name.
 */
bool sample_sums_wait(const struct sample_sums *s, const char *name, const char *file);

/*
 * Statistical error of a time of n samples of N: half the width of the 95 % interval, at least one
 * sample.
 */
int64_t sample_error_ns(const struct sample_totals *c, uint64_t samples);

#endif
