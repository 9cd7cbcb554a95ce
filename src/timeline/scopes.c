#include "timeline/callstack.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Scopes around one that turn out to be over before it: beyond so many it has no parent. */
#define CLIMB_MAX 4096

struct scope_end {
	uint64_t instance;
	int64_t time_ns;
	uint64_t moves;
	const uint8_t *args;
	uint32_t args_bytes;
	uint32_t thread;
	uint32_t process;
};

struct scope_gap {
	size_t thread;
	int64_t start_ns;
};

void scopes_init(struct scopes *s, const struct trace *t)
{
	memset(s, 0, sizeof(*s));
	s->trace = t;
	arena_init(&s->args);
	pair_map_init(&s->open);
	pair_map_init(&s->innermost);
	pair_map_init(&s->throttled_at);
}

void scopes_release(struct scopes *s)
{
	free(s->items);
	free(s->ends);
	free(s->gaps);
	free(s->throttled);
	arena_release(&s->args);
	pair_map_release(&s->open);
	pair_map_release(&s->innermost);
	pair_map_release(&s->throttled_at);
	memset(s, 0, sizeof(*s));
}

static int copy_args(struct scopes *s, const uint8_t **args, uint32_t *bytes,
		     const struct annotation *a)
{
	uint8_t *copy;

	if (!a->args_bytes)
		return 0;
	copy = arena_alloc(&s->args, a->args_bytes);
	if (!copy)
		return -1;
	memcpy(copy, a->args, a->args_bytes);
	*args = copy;
	*bytes = (uint32_t)a->args_bytes;
	return 0;
}

/* The key of the chain in which a scope nests: process ids never reach the top bit. */
static uint64_t chain_of(const struct scope *scope)
{
	return scope->task ? scope->process | 1ull << 63 : 0;
}

/*
 * Puts the new scope in front of its chain, which runs through the parents.
 * Those that ended on this thread are seen to have ended, in the exact order of
 * the events; scopes_finish() knows the rest.
 */
static int nest(struct scopes *s, struct scope *scope, size_t index)
{
	uint64_t chain = chain_of(scope);
	uint64_t link = scope->task ? scope->task : scope->thread;
	size_t parent = pair_map_find(&s->innermost, chain, link);

	if (scope_is_apart(scope)) {
		scope->parent = SCOPE_NONE;
		return 0;
	}
	while (parent != SCOPE_NONE && s->items[parent].ended &&
	       s->items[parent].end_ns <= scope->start_ns)
		parent = s->items[parent].parent;
	scope->parent = parent;
	return pair_map_put(&s->innermost, chain, link, index);
}

static int add_begin(struct scopes *s, const struct annotation *a)
{
	const char *name = trace_string(s->trace, a->name);
	struct scope *scope = array_grow(s->items, &s->cap, s->count + 1, sizeof(*scope));

	if (!scope)
		return -1;
	s->items = scope;
	scope += s->count;
	*scope = (struct scope){
		.name = name ? name : "(unknown)",
		.nvtx = trace_nvtx(s->trace, a->name),
		.start_ns = a->time_ns,
		.task = a->task,
		.instance = a->instance,
		.thread = (uint32_t)a->thread,
		.process = trace_thread(s->trace, a->thread)->process,
		.moves = a->moves,
	};
	if (!name)
		s->unknown_names++;
	if (copy_args(s, &scope->args, &scope->args_bytes, a) || nest(s, scope, s->count) ||
	    pair_map_put(&s->open, scope->process, scope->instance, s->count))
		return -1;
	s->count++;
	return 0;
}

static enum scope_reach reach_of(const struct scope *scope, const struct scope_end *end)
{
	if (!scope->moves || !end->moves || scope->thread != end->thread)
		return SCOPE_UNKNOWN;
	return scope->moves == end->moves ? SCOPE_INSIDE_CALL : SCOPE_AROUND_CALLS;
}

static bool end_scope(struct scopes *s, const struct scope_end *end)
{
	size_t at = pair_map_find(&s->open, end->process, end->instance);

	if (at == PAIR_NONE || end->time_ns < s->items[at].start_ns)
		return false;
	s->items[at].ended = true;
	s->items[at].end_ns = end->time_ns;
	s->items[at].reach = reach_of(&s->items[at], end);
	s->items[at].end_args = end->args;
	s->items[at].end_args_bytes = end->args_bytes;
	pair_map_remove(&s->open, end->process, end->instance);
	return true;
}

static int add_end(struct scopes *s, const struct annotation *a)
{
	struct scope_end end = {
		.instance = a->instance,
		.time_ns = a->time_ns,
		.moves = a->moves,
		.thread = (uint32_t)a->thread,
		.process = trace_thread(s->trace, a->thread)->process,
	};
	struct scope_end *grown;

	if (copy_args(s, &end.args, &end.args_bytes, a))
		return -1;
	if (end_scope(s, &end))
		return 0;
	grown = array_grow(s->ends, &s->end_cap, s->end_count + 1, sizeof(*grown));
	if (!grown)
		return -1;
	s->ends = grown;
	grown[s->end_count++] = end;
	return 0;
}

int scopes_add(struct scopes *s, const struct annotation *a)
{
	switch (a->kind) {
	case RECORD_SCOPE_BEGIN:
		return add_begin(s, a);
	case RECORD_SCOPE_END:
		return add_end(s, a);
	default:
		return 0;
	}
}

int scopes_add_gap(struct scopes *s, size_t thread, int64_t start_ns)
{
	struct scope_gap *g = array_grow(s->gaps, &s->gap_cap, s->gap_count + 1, sizeof(*g));

	if (!g)
		return -1;
	s->gaps = g;
	g[s->gap_count++] = (struct scope_gap){ thread, start_ns };
	return 0;
}

int scopes_throttle(struct scopes *s, uint32_t id)
{
	const struct trace_nvtx *nvtx = trace_nvtx(s->trace, id);
	struct scope_throttled *grown;

	/* It is said again after every try to record it. */
	if (!nvtx || pair_map_find(&s->throttled_at, 0, id) != PAIR_NONE)
		return 0;
	grown = array_grow(s->throttled, &s->throttled_cap, s->throttled_count + 1, sizeof(*grown));
	if (!grown)
		return -1;
	s->throttled = grown;
	grown[s->throttled_count].what = nvtx;
	return pair_map_put(&s->throttled_at, 0, id, s->throttled_count++);
}

static bool is_before(const struct scope_gap *g, const struct scope *scope)
{
	return g->thread < scope->thread ||
	       (g->thread == scope->thread && g->start_ns < scope->start_ns);
}

/* Where the first gap on the scope's thread after its begin starts, or INT64_MAX. */
static int64_t first_gap_after(const struct scopes *s, const struct scope *scope)
{
	size_t at = 0;

	BISECT(at, s->gap_count, is_before(&s->gaps[at], scope));
	if (at < s->gap_count && s->gaps[at].thread == scope->thread)
		return s->gaps[at].start_ns;
	return INT64_MAX;
}

static bool surrounds(const struct scopes *s, const struct scope *outer, const struct scope *inner)
{
	if (outer->start_ns > inner->start_ns)
		return false;
	if (outer->ended)
		return outer->end_ns >= inner->start_ns;
	return first_gap_after(s, outer) >= inner->start_ns;
}

/* Parents come before their children in the list, so theirs are final already. */
static void settle_parent(struct scopes *s, struct scope *scope)
{
	unsigned climbed = 0;

	while (scope->parent != SCOPE_NONE && !surrounds(s, &s->items[scope->parent], scope))
		scope->parent = ++climbed < CLIMB_MAX ? s->items[scope->parent].parent : SCOPE_NONE;
	scope->depth = scope->parent == SCOPE_NONE ? 0 : s->items[scope->parent].depth + 1;
}

void scopes_finish(struct scopes *s, const struct thread_counts *threads)
{
	for (size_t i = 0; i < s->end_count; i++)
		s->lost_begins += !end_scope(s, &s->ends[i]);
	for (size_t i = 0; i < s->count; i++)
		settle_parent(s, &s->items[i]);
	for (size_t i = 0; i < s->count; i++) {
		struct scope *scope = &s->items[i];

		if (!scope->ended)
			scope->end_ns = threads[scope->thread].end_ns;
	}
}
