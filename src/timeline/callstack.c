/*
 * Self time is what a span's own closed children do not cover, so each frame
 * adds up the time inside it and hands its own duration down when it closes.
 *
 * A gap makes the frames open at that moment uncertain: they may have been left
 * unseen.  Such a frame notes where the gap began and how much of it was covered
 * by then.  Unless its own exit shows that it lived on, it is cut back to the gap,
 * and what ran on top of it since is handed to the frame below: a frame that is
 * long gone must not appear as the hottest of all.
 */
#include "timeline/callstack.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/*
 * How far down the frame of an exit, or of a throttled function, is searched.  Crafted stacks must
 * not make each search slow, so searches have a budget: every entry allows some more steps.  A
 * real stack of N frames had N entries, and can always be searched as a whole.
 */
#define SEARCH_MAX 4096
#define DROPPED_MAX 16384
#define STEPS_FIRST SEARCH_MAX
#define STEPS_PER_ENTRY 64

void callstack_init(struct callstack *s, struct functions *f, const struct timeline_visitor *v)
{
	memset(s, 0, sizeof(*s));
	s->functions = f;
	s->visitor = v;
}

void callstack_release(struct callstack *s)
{
	free(s->frames);
	free(s->open);
	memset(s, 0, sizeof(*s));
}

void callstack_start(struct callstack *s, size_t thread, struct thread_counts *totals,
		     int64_t start_ns)
{
	s->thread = thread;
	s->totals = totals;
	s->depth = s->uncertain = 0;
	s->beyond = 0;
	s->steps = STEPS_FIRST;
	s->gc_paused = s->entries_missing = s->exits_missing = false;
	s->last_ns = s->floor_ns = start_ns;
	s->floor_covered_ns = s->covered_ns = 0;
}

static int64_t *inside_of_top(struct callstack *s)
{
	return s->depth ? &s->frames[s->depth - 1].inside_ns : &s->covered_ns;
}

static void deliver(struct callstack *s, const struct span *span, uint64_t collected)
{
	if (span->flags & SPAN_REPAIRED && s->exits_missing)
		s->totals->unwound++;
	else if (span->flags & SPAN_REPAIRED)
		s->totals->repaired++;
	if (span->flags & SPAN_OPEN_START)
		s->totals->open_start++;
	if (span->flags & SPAN_OPEN_END)
		s->totals->open_end++;
	if (span->function == FUNCTION_NONE) {
		if (s->visitor->gc)
			s->visitor->gc(s->visitor->ctx, span, collected);
	} else if (s->visitor->function) {
		s->visitor->function(s->visitor->ctx, span);
	}
}

/* The flags of the frame just taken off the stack. */
static uint32_t frame_flags(struct callstack *s, const struct frame *f)
{
	uint32_t flags = f->called ? SPAN_CALL : 0;

	if (f->function != FUNCTION_NONE && --s->open[f->function])
		flags |= SPAN_RECURSIVE;
	return flags;
}

static void close_top(struct callstack *s, int64_t end_ns, uint32_t flags, uint64_t collected)
{
	const struct frame *f = &s->frames[--s->depth];
	int64_t duration = end_ns - f->start_ns;
	struct span span = {
		.thread = s->thread,
		.id = f->id,
		.function = f->function,
		.depth = (uint32_t)s->depth,
		.flags = flags | frame_flags(s, f),
		.start_ns = f->start_ns,
		.end_ns = end_ns,
		.self_ns = duration - f->inside_ns,
	};

	*inside_of_top(s) += duration;
	if (s->depth < s->uncertain) {
		s->uncertain = s->depth;
		s->floor_covered_ns = end_ns - s->floor_ns;
		span.flags |= SPAN_GAP;
	} else if (s->depth == s->uncertain) {
		s->floor_covered_ns += duration;
	}
	deliver(s, &span, collected);
}

/* No event has confirmed the top frame since the gap that made it uncertain. */
static void cut_top_to_gap(struct callstack *s, uint32_t flags)
{
	const struct frame *f = &s->frames[--s->depth];
	int64_t duration = f->gap_ns - f->start_ns;
	const struct span span = {
		.thread = s->thread,
		.id = f->id,
		.function = f->function,
		.depth = (uint32_t)s->depth,
		.flags = flags | SPAN_GAP | frame_flags(s, f),
		.start_ns = f->start_ns,
		.end_ns = f->gap_ns,
		.self_ns = duration - f->inside_at_gap_ns,
	};

	*inside_of_top(s) += duration + (f->inside_ns - f->inside_at_gap_ns);
	s->uncertain = s->depth;
	deliver(s, &span, 0);
}

static int push(struct callstack *s, uint32_t id, uint32_t function, bool called, int64_t now_ns)
{
	struct frame *f;

	if (s->depth == s->cap) {
		if (s->depth == CALLSTACK_MAX) {
			s->beyond++;
			return 0;
		}
		f = array_grow(s->frames, &s->cap, s->depth + 1, sizeof(*f));
		if (!f)
			return -1;
		s->frames = f;
	}
	if (function != FUNCTION_NONE)
		s->open[function]++;
	if (s->visitor->enter)
		s->visitor->enter(s->visitor->ctx, s->thread, (uint32_t)s->depth, function, now_ns);
	f = &s->frames[s->depth++];
	f->start_ns = now_ns;
	f->inside_ns = 0;
	f->id = id;
	f->function = function;
	f->called = called;
	return 0;
}

static int grow_open(struct callstack *s, uint32_t function)
{
	size_t old = s->open_cap;
	uint32_t *open = array_grow(s->open, &s->open_cap, (size_t)function + 1, sizeof(*open));

	if (!open)
		return -1;
	memset(open + old, 0, (s->open_cap - old) * sizeof(*open));
	s->open = open;
	return 0;
}

int callstack_enter(struct callstack *s, uint32_t id, bool called, int64_t now_ns)
{
	uint32_t function = functions_find(s->functions, id);

	if (function == FUNCTION_NONE)
		return -1;
	if (function >= s->open_cap && grow_open(s, function))
		return -1;
	s->steps += STEPS_PER_ENTRY;
	s->last_ns = now_ns;
	return push(s, id, function, called, now_ns);
}

/* An exit whose entry is missing. */
static void close_unseen(struct callstack *s, uint32_t id, uint32_t function, uint64_t collected,
			 int64_t now_ns)
{
	bool enclosed = s->depth > s->uncertain;
	int64_t covered = enclosed ? 0 : s->floor_covered_ns;
	struct span span = {
		.thread = s->thread,
		.id = id,
		.function = function,
		.depth = (uint32_t)s->depth,
		.flags = SPAN_OPEN_START,
		.start_ns = enclosed ? s->last_ns : s->floor_ns,
		.end_ns = now_ns,
	};

	if (function != FUNCTION_NONE && function < s->open_cap && s->open[function])
		span.flags |= SPAN_RECURSIVE;
	span.self_ns = span.end_ns - span.start_ns - covered;
	*inside_of_top(s) += span.self_ns;
	if (!enclosed)
		s->floor_covered_ns = now_ns - s->floor_ns;
	deliver(s, &span, collected);
}

static bool same_frame(const struct frame *f, uint32_t id, uint32_t function)
{
	/* One collection runs at a time, whatever generation its end names. */
	return f->function == function && (f->id == id || function == FUNCTION_NONE);
}

/* How many frames remain when those above the one that is left are closed; 0: it is not there. */
static size_t find_frame(struct callstack *s, uint32_t id, uint32_t function)
{
	size_t most = s->steps < SEARCH_MAX ? (size_t)s->steps : SEARCH_MAX;
	size_t lowest = s->depth > most ? s->depth - most : 0;

	if (function != FUNCTION_NONE && (function >= s->open_cap || !s->open[function]))
		return 0;
	for (size_t at = s->depth; at > lowest; at--) {
		s->steps--;
		if (same_frame(&s->frames[at - 1], id, function))
			return at;
	}
	return 0;
}

static void leave_frame(struct callstack *s, uint32_t id, uint32_t function, uint64_t collected,
			int64_t now_ns)
{
	size_t at;

	if (s->beyond) {
		s->beyond--;
		return;
	}
	at = find_frame(s, id, function);
	if (!at) {
		if (s->entries_missing && function != FUNCTION_NONE)
			return; /* in the time of its caller, as when it began */
		close_unseen(s, id, function, collected, now_ns);
		return;
	}
	while (s->depth > at) {
		if (s->depth <= s->uncertain)
			cut_top_to_gap(s, SPAN_REPAIRED);
		else
			close_top(s, now_ns, SPAN_REPAIRED, 0);
	}
	close_top(s, now_ns, 0, collected);
}

int callstack_exit(struct callstack *s, uint32_t id, int64_t now_ns)
{
	if (s->depth && !s->beyond) {
		const struct frame *top = &s->frames[s->depth - 1];

		if (top->id == id && top->function != FUNCTION_NONE) {
			close_top(s, now_ns, 0, 0);
			s->last_ns = now_ns;
			return 0;
		}
	}

	uint32_t function = functions_find(s->functions, id);

	if (function == FUNCTION_NONE)
		return -1;
	leave_frame(s, id, function, 0, now_ns);
	s->last_ns = now_ns;
	return 0;
}

int callstack_gc_begin(struct callstack *s, uint32_t generation, int64_t now_ns)
{
	s->last_ns = now_ns;
	s->gc_paused = false;
	return push(s, generation, FUNCTION_NONE, false, now_ns);
}

void callstack_gc_end(struct callstack *s, uint32_t generation, uint64_t collected, int64_t now_ns)
{
	if (!s->gc_paused)
		leave_frame(s, generation, FUNCTION_NONE, collected, now_ns);
	s->gc_paused = false;
	s->last_ns = now_ns;
}

void callstack_gap(struct callstack *s, int64_t now_ns)
{
	for (size_t i = s->uncertain; i < s->depth; i++) {
		struct frame *f = &s->frames[i];

		f->gap_ns = s->last_ns;
		f->inside_at_gap_ns = f->inside_ns;
		if (i + 1 < s->depth)
			f->inside_at_gap_ns += s->last_ns - f[1].start_ns;
	}
	/*
	 * The functions that ran in the gap are lost with its events: the time is in no self time.
	 */
	if (s->depth) {
		s->frames[s->depth - 1].inside_ns += now_ns - s->last_ns;
		s->totals->gap_ns += now_ns - s->last_ns;
	}
	s->uncertain = s->depth;
	s->beyond = 0;
	s->last_ns = s->floor_ns = now_ns;
	s->floor_covered_ns = 0;
}

void callstack_pause(struct callstack *s, int64_t now_ns)
{
	while (s->depth) {
		s->gc_paused |= s->frames[s->depth - 1].function == FUNCTION_NONE;
		if (s->depth > s->uncertain)
			close_top(s, now_ns, SPAN_PAUSED, 0);
		else
			cut_top_to_gap(s, SPAN_PAUSED);
	}
	callstack_resume(s, now_ns);
}

void callstack_resume(struct callstack *s, int64_t now_ns)
{
	s->beyond = 0;
	s->last_ns = s->floor_ns = now_ns;
	s->floor_covered_ns = 0;
}

/* A frame goes that lies on the first `below` ones; its account goes to the one beneath it. */
static void drop_frame(struct callstack *s, const struct frame *f, size_t below, bool uncertain)
{
	struct frame *beneath = below ? &s->frames[below - 1] : NULL;

	s->open[f->function]--;
	*(beneath ? &beneath->inside_ns : &s->covered_ns) += f->inside_ns;
	/* Both were open at that gap. */
	if (uncertain && beneath && beneath->gap_ns == f->gap_ns)
		beneath->inside_at_gap_ns += f->inside_at_gap_ns - (f->gap_ns - f->start_ns);
	if (uncertain)
		s->uncertain--;
	else if (below == s->uncertain)
		s->floor_covered_ns += f->inside_ns;
}

int callstack_drop_function(struct callstack *s, uint32_t id, size_t *from_depth)
{
	uint32_t function = functions_find(s->functions, id);
	size_t uncertain = s->uncertain, first = s->depth, kept;
	uint32_t open = function < s->open_cap ? s->open[function] : 0;

	if (function == FUNCTION_NONE)
		return -1;
	s->beyond = 0; /* who knows which ends are still to come */
	while (open && first && s->steps && s->depth - first < DROPPED_MAX) {
		first--;
		s->steps--;
		open -= s->frames[first].function == function;
	}
	kept = *from_depth = first;
	for (size_t i = first; i < s->depth; i++) {
		struct frame f = s->frames[i];

		if (f.function == function && f.id == id)
			drop_frame(s, &f, kept, i < uncertain);
		else
			s->frames[kept++] = f;
	}
	s->depth = kept;
	return 0;
}

void callstack_reach(struct callstack *s, int64_t now_ns)
{
	s->last_ns = now_ns;
}

void callstack_finish(struct callstack *s, int64_t end_ns)
{
	while (s->depth > s->uncertain)
		close_top(s, end_ns, SPAN_OPEN_END, 0);
	while (s->depth)
		cut_top_to_gap(s, SPAN_OPEN_END);
	s->totals->covered_ns = s->covered_ns;
}
