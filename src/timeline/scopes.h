/*
 * Scopes: begins and ends are noted in the order of the walk, thread by thread,
 * and joined afterwards, because they may lie on different threads.
 *
 * A scope is known by its process and instance.  It nests inside the innermost
 * scope of its asyncio task that is open when it begins or, outside any task, of
 * its thread.  A scope whose end was lost in a gap surrounds nothing after it.
 */
#ifndef TIMELINE_SCOPES_H
#define TIMELINE_SCOPES_H

#include "base/buf.h"
#include "timeline/timeline.h"

struct scope_begin;
struct scope_end;
struct scope_gap;

struct scopes {
	const struct trace *trace;
	struct scope_begin *begins;
	size_t begin_count, begin_cap;
	struct scope_end *ends;
	size_t end_count, end_cap;
	struct scope_gap *gaps; /* by thread, then time */
	size_t gap_count, gap_cap;
	struct buf args;

	struct scope *items; /* after scopes_join() */
	size_t count;
	uint64_t lost_begins;
	uint64_t unknown_names;
};

void scopes_init(struct scopes *s, const struct trace *t);
void scopes_release(struct scopes *s);

/* -1: no memory. */
int scopes_add(struct scopes *s, const struct annotation *a);
int scopes_add_gap(struct scopes *s, size_t thread, int64_t start_ns);

/* After the last thread; `threads` gives the ends of scopes that have none. */
int scopes_join(struct scopes *s, const struct thread_tally *threads);

#endif
