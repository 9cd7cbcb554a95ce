#include "timeline/scopes.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct scope_begin {
	struct scope scope;
	uint64_t order; /* position in the walk: decides between equal times of a thread */
	size_t args_at;
	uint32_t name;
	/* After the join: */
	uint64_t end_order;
	size_t end_thread;
	int64_t around_until_ns; /* it is no parent from here on */
	size_t below;            /* the scope that was innermost before it, or SCOPE_NONE */
};

struct scope_end {
	uint64_t instance;
	uint64_t order;
	int64_t time_ns;
	size_t thread;
	uint32_t process;
};

struct scope_gap {
	size_t thread;
	int64_t start_ns;
};

/* A table from two numbers to an index: (process, instance) or (process, task). */
struct pair_map {
	struct pair_slot {
		uint64_t high, low;
		size_t value; /* SCOPE_NONE: empty */
	} * slots;
	size_t mask;
};

void scopes_init(struct scopes *s, const struct trace *t)
{
	memset(s, 0, sizeof(*s));
	s->trace = t;
	buf_init(&s->args);
}

void scopes_release(struct scopes *s)
{
	free(s->begins);
	free(s->ends);
	free(s->gaps);
	free(s->items);
	buf_release(&s->args);
	memset(s, 0, sizeof(*s));
}

static uint32_t process_of(const struct scopes *s, size_t thread)
{
	return trace_thread(s->trace, thread)->process;
}

static int add_begin(struct scopes *s, const struct annotation *a)
{
	const char *name = trace_string(s->trace, a->name);
	struct scope_begin *b =
		array_grow(s->begins, &s->begin_cap, s->begin_count + 1, sizeof(*b));

	if (!b)
		return -1;
	s->begins = b;
	if (!name)
		s->unknown_names++;
	b += s->begin_count;
	memset(b, 0, sizeof(*b));
	b->scope.name = name ? name : "(unknown)";
	b->scope.start_ns = a->time_ns;
	b->scope.thread = a->thread;
	b->scope.process = process_of(s, a->thread);
	b->scope.task = a->task;
	b->scope.instance = a->instance;
	b->scope.parent = SCOPE_NONE;
	b->scope.args_bytes = a->args_bytes;
	b->order = s->begin_count++ + s->end_count;
	b->args_at = s->args.len;
	buf_add(&s->args, a->args, a->args_bytes);
	return s->args.failed ? -1 : 0;
}

static int add_end(struct scopes *s, const struct annotation *a)
{
	struct scope_end *e = array_grow(s->ends, &s->end_cap, s->end_count + 1, sizeof(*e));

	if (!e)
		return -1;
	s->ends = e;
	e[s->end_count] = (struct scope_end){
		.instance = a->instance,
		.order = s->begin_count + s->end_count,
		.time_ns = a->time_ns,
		.thread = a->thread,
		.process = process_of(s, a->thread),
	};
	s->end_count++;
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

static int pair_map_init(struct pair_map *m, size_t entries)
{
	size_t n = 16;

	while (n < entries * 2)
		n *= 2;
	m->slots = malloc(n * sizeof(*m->slots));
	m->mask = n - 1;
	for (size_t i = 0; m->slots && i < n; i++)
		m->slots[i].value = SCOPE_NONE;
	return m->slots ? 0 : -1;
}

/* The slot of a pair; an empty one is returned with the pair filled in. */
static struct pair_slot *pair_map_at(struct pair_map *m, uint64_t high, uint64_t low)
{
	uint64_t h = (high * 0x9e3779b97f4a7c15u ^ low) * 0xff51afd7ed558ccdu;
	size_t i = (size_t)(h ^ h >> 32) & m->mask;

	while (m->slots[i].value != SCOPE_NONE &&
	       (m->slots[i].high != high || m->slots[i].low != low))
		i = (i + 1) & m->mask;
	m->slots[i].high = high;
	m->slots[i].low = low;
	return &m->slots[i];
}

static int by_start(const void *a, const void *b)
{
	const struct scope_begin *x = a, *y = b;

	if (x->scope.start_ns != y->scope.start_ns)
		return x->scope.start_ns < y->scope.start_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int join_ends(struct scopes *s)
{
	struct pair_map map;

	if (pair_map_init(&map, s->begin_count))
		return -1;
	for (size_t i = 0; i < s->begin_count; i++) {
		const struct scope *scope = &s->begins[i].scope;

		pair_map_at(&map, scope->process, scope->instance)->value = i;
	}
	for (size_t i = 0; i < s->end_count; i++) {
		const struct scope_end *e = &s->ends[i];
		size_t at = pair_map_at(&map, e->process, e->instance)->value;
		struct scope_begin *b = at == SCOPE_NONE ? NULL : &s->begins[at];

		if (!b || b->scope.ended || e->time_ns < b->scope.start_ns) {
			s->lost_begins++;
			continue;
		}
		b->scope.ended = true;
		b->scope.end_ns = b->around_until_ns = e->time_ns;
		b->end_order = e->order;
		b->end_thread = e->thread;
	}
	free(map.slots);
	return 0;
}

/* Where the first gap on the scope's thread after its begin starts, or INT64_MAX. */
static int64_t first_gap_after(const struct scopes *s, const struct scope *scope)
{
	size_t low = 0, high = s->gap_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct scope_gap *g = &s->gaps[mid];

		if (g->thread < scope->thread ||
		    (g->thread == scope->thread && g->start_ns < scope->start_ns))
			low = mid + 1;
		else
			high = mid;
	}
	if (low < s->gap_count && s->gaps[low].thread == scope->thread)
		return s->gaps[low].start_ns;
	return INT64_MAX;
}

static bool over_before(const struct scope_begin *outer, const struct scope_begin *inner)
{
	if (outer->around_until_ns != inner->scope.start_ns)
		return outer->around_until_ns < inner->scope.start_ns;
	return !outer->scope.ended || outer->end_thread != inner->scope.thread ||
	       outer->end_order < inner->order;
}

static int find_parents(struct scopes *s)
{
	struct pair_map innermost; /* of each task, and of each thread for task 0 */

	if (pair_map_init(&innermost, s->begin_count))
		return -1;
	for (size_t i = 0; i < s->begin_count; i++) {
		struct scope_begin *b = &s->begins[i];
		struct scope *scope = &b->scope;
		bool tasked = scope->task != 0;
		/* Process ids have 32 bits: the top bit keeps tasks and threads apart. */
		uint64_t high = tasked ? scope->process | 1ull << 63 : 0;
		struct pair_slot *top =
			pair_map_at(&innermost, high, tasked ? scope->task : scope->thread);

		b->below = top->value;
		while (b->below != SCOPE_NONE && over_before(&s->begins[b->below], b))
			b->below = s->begins[b->below].below;
		scope->parent = b->below;
		if (scope->parent != SCOPE_NONE)
			scope->depth = s->begins[scope->parent].scope.depth + 1;
		top->value = i;
	}
	free(innermost.slots);
	return 0;
}

int scopes_join(struct scopes *s, const struct thread_tally *threads)
{
	const uint8_t *args = (const uint8_t *)buf_string(&s->args);
	size_t n = s->begin_count;

	if (!n) {
		s->lost_begins = s->end_count;
		return 0;
	}
	qsort(s->begins, n, sizeof(*s->begins), by_start);
	if (join_ends(s))
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct scope_begin *b = &s->begins[i];

		b->scope.args = args + b->args_at;
		if (b->scope.ended)
			continue;
		b->scope.end_ns = threads[b->scope.thread].end_ns;
		if (b->scope.end_ns < b->scope.start_ns)
			b->scope.end_ns = b->scope.start_ns;
		b->around_until_ns = first_gap_after(s, &b->scope);
	}
	if (find_parents(s))
		return -1;
	s->items = calloc(n, sizeof(*s->items));
	if (!s->items)
		return -1;
	s->count = n;
	for (size_t i = 0; i < n; i++)
		s->items[i] = s->begins[i].scope;
	return 0;
}
