/*
 * The gaps in a GPU's work with the threads that ended them, and the sums of what those
 * did meanwhile.
 */
#ifndef ANALYZE_IDLE_GAPS_H
#define ANALYZE_IDLE_GAPS_H

#include "analyze/analysis.h"
#include "analyze/time_places.h"
#include "analyze/track.h"

/* What a place has to do with the gaps of a section. */
struct idle_tally {
	size_t place; /* of the time_places */
	struct idle_cause sum;
	int64_t last_gap_ns; /* when the gap began that was counted last, */
	int64_t last_ns;     /* and what of it is this place's */
};

struct idle_section {
	struct idle_tally *items;
	size_t count, cap;
	struct pair_map at; /* (place, latency) */
	int64_t no_load_ns;
	struct track steps; /* when one of the most important kind lasted */
	bool marked;        /* by the user: they are requests, and not found by us */
};

struct idle_gaps {
	/*
	 * By the position of the thread that launched: from the end of the work before a gap until
	 * the call returned that launched the next.  id: index of the section, one for all of a
	 * thread; more: their number, so that those that touch stay two.
	 */
	struct track *threads;
	size_t thread_count;
	struct idle_section *sections; /* as the analysis has them */
	size_t section_count;
};

/* -1: no memory; release it nevertheless. */
int idle_gaps_init(struct idle_gaps *g, size_t sections, size_t threads);
void idle_gaps_release(struct idle_gaps *g);

/*
 * Finds the gaps, and blames what the device itself took to begin.  The sections' steps are
 * known.  -1: no memory.
 */
int idle_gaps_find(struct idle_gaps *g, const struct analysis_gpu *gpu, struct time_places *places);

/* A part of a gap that a place is to blame for.  -1: no memory. */
int idle_section_add(struct idle_section *s, size_t place, bool latency, int64_t gap_start_ns,
		     int64_t ns, int64_t in_steps_ns);

/* As much as a sum says, which is no part of a gap of its own.  -1: no memory. */
int idle_section_put(struct idle_section *s, size_t place, const struct idle_cause *sum);

/* Names and orders it all: fills in the sections' blame.  -1: no memory. */
int idle_gaps_finish(struct idle_gaps *g, struct analysis *a, const struct time_places *places,
		     const struct timeline *tl);

#endif
