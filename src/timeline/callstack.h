/*
 * One thread's stack of open frames: entries and exits in, closed spans out,
 * repaired as timeline.h says.  Reused for one thread after the other.
 */
#ifndef TIMELINE_CALLSTACK_H
#define TIMELINE_CALLSTACK_H

#include "timeline/functions.h"
#include "timeline/timeline.h"

/* Deeper than any real stack; what a file claims beyond it is counted, not kept. */
#define CALLSTACK_MAX (1u << 20)

struct frame {
	int64_t start_ns;
	int64_t inside_ns; /* time in closed spans directly inside it, and in gaps */
	/* For frames below callstack.uncertain: the first gap, and inside_ns up to there. */
	int64_t gap_ns, inside_at_gap_ns;
	uint32_t id;
	uint32_t function; /* FUNCTION_NONE: a collection */
	bool called;
};

struct callstack {
	struct functions *functions;
	const struct timeline_visitor *visitor;
	struct thread_tally *tally;
	size_t thread;

	struct frame *frames;
	size_t depth, cap;
	size_t uncertain; /* frames that were open at a gap are the lowest ones */
	uint64_t beyond;  /* entries above CALLSTACK_MAX, not yet left */
	uint32_t *open;   /* by function: how often it is on the stack */
	size_t open_cap;

	/* For the budget's sake; what is missing then is no damage. */
	bool entries_missing; /* of functions that were left out */
	bool exits_missing;   /* by exceptions */

	bool gc_paused; /* a collection was cut by a pause: its end is still to come */

	int64_t last_ns;          /* of the latest event */
	int64_t floor_ns;         /* nothing is missing since: the thread's start or a gap's end */
	int64_t floor_covered_ns; /* since floor_ns, by closed spans on top of the uncertain frames
				   */
	int64_t covered_ns;       /* by closed spans on no other frame */
};

void callstack_init(struct callstack *s, struct functions *f, const struct timeline_visitor *v);
void callstack_release(struct callstack *s);

/* A thread begins; the stack is empty. */
void callstack_start(struct callstack *s, size_t thread, struct thread_tally *tally,
		     int64_t start_ns);

/* Times never go back: the caller sees to that.  -1: no memory. */
int callstack_enter(struct callstack *s, uint32_t id, bool called, int64_t now_ns);
int callstack_exit(struct callstack *s, uint32_t id, int64_t now_ns);
int callstack_gc_begin(struct callstack *s, uint32_t generation, int64_t now_ns);
void callstack_gc_end(struct callstack *s, uint32_t generation, uint64_t collected, int64_t now_ns);

/* Events were lost between the latest one and now_ns. */
void callstack_gap(struct callstack *s, int64_t now_ns);

/*
 * Recording pauses at now_ns, not before the latest event: what is open ends there (SPAN_PAUSED).
 * What runs when it goes on may be another call of the same functions from the same place (an
 * address that comes back proves nothing), so no span is carried across.
 */
void callstack_pause(struct callstack *s, int64_t now_ns);

/* It goes on; the functions that run now are entered next, or there are none. */
void callstack_resume(struct callstack *s, int64_t now_ns);

/*
 * The function with this code id is traced no longer: its open frames go, and their
 * time is that of the functions that called them.
 */
int callstack_fold(struct callstack *s, uint32_t id);

/* Up to now nothing is missing; a gap that follows begins here. */
void callstack_reach(struct callstack *s, int64_t now_ns);

/* The thread ends: closes what is open. */
void callstack_finish(struct callstack *s, int64_t end_ns);

#endif
