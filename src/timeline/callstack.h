/*
 * One thread's stack of open frames: entries and exits in, closed spans out,
 * repaired as timeline.h says.  Reused for one thread after the other.
 */
#ifndef TIMELINE_CALLSTACK_H
#define TIMELINE_CALLSTACK_H

#include "base/arena.h"
#include "timeline/functions.h"
#include "timeline/pair_map.h"
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
	struct thread_counts *totals;
	size_t thread;

	struct frame *frames;
	size_t depth, cap;
	size_t uncertain; /* frames that were open at a gap are the lowest ones */
	uint64_t steps;   /* down the stack that may still be searched */
	uint64_t beyond;  /* entries above CALLSTACK_MAX, not yet left */
	uint32_t *open;   /* by function: how often it is on the stack */
	size_t open_cap;

	/* For the budget's sake; what is missing then is no damage. */
	bool entries_missing; /* of functions that were omitted */
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
void callstack_start(struct callstack *s, size_t thread, struct thread_counts *totals,
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
 * time is that of the functions that called them.  *from_depth: none of them is below.
 */
int callstack_drop_function(struct callstack *s, uint32_t id, size_t *from_depth);

/* Up to now nothing is missing; a gap that follows begins here. */
void callstack_reach(struct callstack *s, int64_t now_ns);

/* The thread ends: closes what is open. */
void callstack_finish(struct callstack *s, int64_t end_ns);

/*
 * Scopes: begins and ends are joined as the walk passes them, thread by thread;
 * what crosses threads is put right afterwards.
 *
 * A scope is known by its process and instance.  It nests inside the innermost
 * scope of its asyncio task that is open when it begins or, outside any task, of
 * its thread; ranges that NVTX started lie inside nothing.  A scope whose end was lost in a gap
 * surrounds nothing behind it.
 */

struct scope_end;
struct scope_gap;

/* Of the trace, for the budget's sake. */
struct scope_throttled {
	const struct trace_nvtx *what;
};

struct scopes {
	const struct trace *trace;
	struct scope *items;
	size_t count, cap;
	struct arena args;
	struct pair_map open;      /* (process, instance): a scope whose end was not seen yet */
	struct pair_map innermost; /* of a task, and of a thread outside any: the latest scope */
	struct scope_end *ends;    /* whose begin was not seen yet: perhaps of a later thread */
	size_t end_count, end_cap;
	struct scope_gap *gaps; /* by thread, then time */
	size_t gap_count, gap_cap;
	struct scope_throttled *throttled;
	size_t throttled_count, throttled_cap;
	struct pair_map throttled_at; /* (0, id): its place */
	uint64_t lost_begins;
	uint64_t unknown_names;
};

void scopes_init(struct scopes *s, const struct trace *t);
void scopes_release(struct scopes *s);

/* -1: no memory. */
int scopes_add(struct scopes *s, const struct annotation *a);
int scopes_add_gap(struct scopes *s, size_t thread, int64_t start_ns);

/* RECORD_NVTX_LEFT_OUT; -1: no memory. */
int scopes_throttle(struct scopes *s, uint32_t id);

/* After the last thread; `threads` gives the ends of scopes that have none. */
void scopes_finish(struct scopes *s, const struct thread_counts *threads);

#endif
