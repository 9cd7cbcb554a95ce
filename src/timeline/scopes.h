/*
 * Scopes: begins and ends are joined as the walk passes them, thread by thread;
 * what crosses threads is put right afterwards.
 *
 * A scope is known by its process and instance.  It nests inside the innermost
 * scope of its asyncio task that is open when it begins or, outside any task, of
 * its thread; ranges that NVTX started lie inside nothing.  A scope whose end was lost in a gap
 * surrounds nothing behind it.
 */
#ifndef TIMELINE_SCOPES_H
#define TIMELINE_SCOPES_H

#include "base/arena.h"
#include "timeline/pair_map.h"
#include "timeline/timeline.h"

struct scope_end;
struct scope_gap;

/* Of the trace, for the budget's sake. */
struct scope_left_out {
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
	struct scope_left_out *left_out;
	size_t left_out_count, left_out_cap;
	struct pair_map left_out_at; /* (0, id): its place */
	uint64_t lost_begins;
	uint64_t unknown_names;
};

void scopes_init(struct scopes *s, const struct trace *t);
void scopes_release(struct scopes *s);

/* -1: no memory. */
int scopes_add(struct scopes *s, const struct annotation *a);
int scopes_add_gap(struct scopes *s, size_t thread, int64_t start_ns);

/* RECORD_NVTX_LEFT_OUT; -1: no memory. */
int scopes_leave_out(struct scopes *s, uint32_t id);

/* After the last thread; `threads` gives the ends of scopes that have none. */
void scopes_finish(struct scopes *s, const struct thread_tally *threads);

#endif
