/* The part that runs after the walk: which of the calls around layers repeat. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/gpu/gpu_busy.h"
#include "analyze/steps/step_finder.h"
#include "base/array.h"
#include "base/buf.h"
#include "timeline/pair_map.h"

#define STRAY_SHARE 0.1 /* of the layers may be called from nowhere */
#define NO_PARENT UINT64_MAX

/*
 * What a function calls of one kind, in all its calls of one process; also calls without a caller.
 */
struct series {
	uint64_t function; /* kind of the parents; NO_PARENT */
	uint64_t kind;
	uint32_t process;
	size_t count, first;
	size_t between; /* two of the kind that the iterations begin with */
	bool has_loop;
	const char *name;
};

/* A function that layers are called in, in one process. */
struct caller {
	size_t calls, units;
	size_t series; /* that its iterations begin with; UNIT_NONE: it is no loop */
};

struct search {
	struct step_finder *f;
	struct found_steps *out;
	struct pair_map callers; /* (process, function) */
	struct caller *caller_items;
	size_t caller_count, caller_cap;
	struct pair_map series; /* (process and function, kind) */
	struct series *series_items;
	size_t series_count, series_cap;
};

static uint32_t process_of(const struct search *s, const struct step_unit *u)
{
	return trace_thread(s->f->trace, u->thread)->process;
}

static bool is_layer(const struct step_unit *u)
{
	return u->kind & UNIT_LAYER;
}

static bool is_function(uint64_t kind)
{
	return !(kind & (UNIT_LAYER | UNIT_GRAPH | UNIT_CALL));
}

static const struct step_unit *parent_of(const struct search *s, const struct step_unit *u)
{
	return u->parent == UNIT_NONE ? NULL : &s->f->units[u->parent];
}

/* What was in a function that turned out to be unknown is in the one around it. */
static void link_units(struct search *s)
{
	struct step_unit *units = s->f->units;

	for (size_t i = 0; i < s->f->count; i++) {
		struct step_unit *u = &units[i];

		while (u->parent != UNIT_NONE && !units[u->parent].known)
			u->parent = units[u->parent].parent;
		if (u->parent == UNIT_NONE || !u->known)
			continue;
		if (units[u->parent].last_child == UNIT_NONE)
			units[u->parent].first_child = i;
		else
			units[units[u->parent].last_child].next = i;
		units[u->parent].last_child = i;
	}
}

static struct caller *caller_of(struct search *s, const struct step_unit *u)
{
	uint32_t process = process_of(s, u);
	size_t at = pair_map_find(&s->callers, process, u->kind);
	struct caller *c;

	if (at != PAIR_NONE)
		return &s->caller_items[at];
	c = array_grow(s->caller_items, &s->caller_cap, s->caller_count + 1, sizeof(*c));
	if (!c)
		return NULL;
	s->caller_items = c;
	if (pair_map_put(&s->callers, process, u->kind, s->caller_count))
		return NULL;
	c[s->caller_count] = (struct caller){ .series = UNIT_NONE };
	return &c[s->caller_count++];
}

static struct series *series_of(struct search *s, const struct step_unit *u, size_t index)
{
	const struct step_unit *parent = parent_of(s, u);
	uint64_t function = parent ? parent->kind : UINT32_MAX;
	uint64_t place = (uint64_t)process_of(s, u) << 32 | function;
	size_t at = pair_map_find(&s->series, place, u->kind);
	struct series *n;

	if (at != PAIR_NONE)
		return &s->series_items[at];
	n = array_grow(s->series_items, &s->series_cap, s->series_count + 1, sizeof(*n));
	if (!n)
		return NULL;
	s->series_items = n;
	if (pair_map_put(&s->series, place, u->kind, s->series_count))
		return NULL;
	n[s->series_count] = (struct series){
		.function = parent ? parent->kind : NO_PARENT,
		.kind = u->kind,
		.process = process_of(s, u),
		.first = index,
	};
	return &n[s->series_count++];
}

static int count_unit(struct search *s, const struct step_unit *u, size_t index)
{
	struct series *n = series_of(s, u, index);
	struct caller *c;

	if (!n)
		return -1;
	n->count++;
	if (is_function(u->kind)) {
		c = caller_of(s, u);
		if (!c)
			return -1;
		c->calls++;
	}
	if (parent_of(s, u)) {
		c = caller_of(s, parent_of(s, u));
		if (!c)
			return -1;
		c->units++;
	}
	return 0;
}

static int count_units(struct search *s)
{
	for (size_t i = 0; i < s->f->count; i++) {
		if (s->f->units[i].known && count_unit(s, &s->f->units[i], i))
			return -1;
	}
	return 0;
}

/*
 * Layers of any kind that a function calls make it a loop, as they may be made anew for each call;
 * lines that wait or launch stand in any function, and a pipeline has layers of several kinds.
 */
static bool is_loop(const struct search *s, const struct step_unit *parent, const struct caller *c,
		    const struct series *n)
{
	size_t repeats = s->f->lead == LEAD_MODELS && !parent->librarys ? c->units : n->count;

	return repeats >= STEP_REPEATS && repeats > 2 * c->calls;
}

/* The kind that is most frequent in a loop begins its iterations; of two the one seen first. */
static void choose_starts(struct search *s)
{
	for (size_t i = 0; i < s->series_count; i++) {
		const struct series *n = &s->series_items[i];
		const struct step_unit *parent = parent_of(s, &s->f->units[n->first]);
		struct caller *c = parent ? caller_of(s, parent) : NULL;

		if (!c || !is_loop(s, parent, c, n))
			continue;
		if (c->series == UNIT_NONE || n->count > s->series_items[c->series].count ||
		    (n->count == s->series_items[c->series].count &&
		     n->first < s->series_items[c->series].first))
			c->series = i;
	}
}

/* Parents come before what is in them. */
static void mark_loops(struct search *s)
{
	for (size_t i = 0; i < s->f->count; i++) {
		struct step_unit *u = &s->f->units[i];
		const struct step_unit *parent = parent_of(s, u);

		if (parent)
			u->loops = parent->loops + (caller_of(s, parent)->series != UNIT_NONE);
	}
	for (size_t i = s->f->count; i > 0; i--) {
		struct step_unit *u = &s->f->units[i - 1];

		if (!u->known)
			continue;
		if (is_function(u->kind) && caller_of(s, u)->series != UNIT_NONE)
			u->has_loop = true;
		if (u->has_loop) {
			series_of(s, u, i - 1)->has_loop = true;
			if (u->parent != UNIT_NONE)
				s->f->units[u->parent].has_loop = true;
		}
	}
}

static size_t next_of_kind(const struct search *s, size_t unit, uint64_t kind)
{
	while (unit != UNIT_NONE && s->f->units[unit].kind != kind)
		unit = s->f->units[unit].next;
	return unit;
}

static void count_between(struct search *s, const struct step_unit *loop, uint64_t kind)
{
	size_t from = next_of_kind(s, loop->first_child, kind);

	while (from != UNIT_NONE) {
		size_t to = next_of_kind(s, s->f->units[from].next, kind);

		for (size_t i = s->f->units[from].next; i != to && to != UNIT_NONE;
		     i = s->f->units[i].next) {
			struct series *n = series_of(s, &s->f->units[i], i);

			if (n) /* else out of memory */
				n->between++;
		}
		from = to;
	}
}

static int found_add(struct search *s, const struct step_unit *u, const struct series *n,
		     int64_t start_ns, int64_t end_ns)
{
	struct found_steps *out = s->out;
	struct scope *scope = array_grow(out->items, &out->cap, out->count + 1, sizeof(*scope));

	if (!scope)
		return -1;
	out->items = scope;
	scope[out->count++] = (struct scope){
		.name = n->name,
		.start_ns = start_ns,
		.end_ns = end_ns > u->end_ns ? end_ns : u->end_ns,
		.parent = SCOPE_NONE,
		.thread = u->thread,
		.process = n->process,
		.depth = parent_of(s, u) ? parent_of(s, u)->loops : 0,
		.ended = true,
	};
	return 0;
}

static int compare_times(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Calls of CUDA's may have been missed, of which nothing is known then. */
static bool unseen_between(const struct search *s, const struct step_unit *u, int64_t end_ns)
{
	const struct gpu_section *section =
		s->f->gpu ? gpu_section_find(s->f->gpu, process_of(s, u)) : NULL;

	return section && gpu_paused_between(section, u->end_ns, end_ns);
}

/* The next of the kind, if it is known to be: others may have been missed in between. */
static size_t next_iteration(const struct search *s, size_t unit, uint64_t kind)
{
	const struct step_unit *u = &s->f->units[unit];
	size_t next = next_of_kind(s, u->next, kind);

	return next != UNIT_NONE && s->f->units[next].interval == u->interval &&
			       !unseen_between(s, u, s->f->units[next].start_ns)
		       ? next
		       : UNIT_NONE;
}

/* How long after the end of one the next begins, as a rule. */
static int64_t usual_rest(const struct search *s, const struct step_unit *loop, uint64_t kind,
			  int64_t *room)
{
	size_t n = 0;

	for (size_t i = next_of_kind(s, loop->first_child, kind), next; i != UNIT_NONE; i = next) {
		next = next_of_kind(s, s->f->units[i].next, kind);
		if (next_iteration(s, i, kind) != UNIT_NONE)
			room[n++] = s->f->units[next].start_ns - s->f->units[i].end_ns;
	}
	qsort(room, n, sizeof(*room), compare_times);
	return n ? room[(n - 1) / 2] : 0;
}

static bool same_library_call(const struct search *s, const struct step_unit *u, size_t other)
{
	return u->through && other != UNIT_NONE && s->f->units[other].through == u->through;
}

/* Each ends with a wait, and begins where the one before it ended; the first as long before. */
static int add_waits(struct search *s, const struct step_unit *loop, const struct series *n,
		     int64_t *room)
{
	int64_t rest_ns = usual_rest(s, loop, n->kind, room);
	size_t before = UNIT_NONE;

	for (size_t i = next_of_kind(s, loop->first_child, n->kind); i != UNIT_NONE;
	     i = next_of_kind(s, s->f->units[i].next, n->kind)) {
		const struct step_unit *u = &s->f->units[i];
		int64_t start_ns = u->start_ns - rest_ns;

		if (start_ns < loop->start_ns)
			start_ns = loop->start_ns;
		if (before != UNIT_NONE && next_iteration(s, before, n->kind) != UNIT_NONE)
			start_ns = s->f->units[before].end_ns;
		if (found_add(s, u, n, start_ns, u->end_ns))
			return -1;
		before = i;
	}
	return 0;
}

/*
 * Iterations of one call of a loop.  The last one, and one after which some may have been missed,
 * usually pauses as long as the others.
 */
static int add_iterations(struct search *s, const struct step_unit *loop, const struct series *n,
			  int64_t *room)
{
	int64_t rest_ns;
	size_t before = UNIT_NONE;

	if (s->f->lead == LEAD_WAITS && n->kind & UNIT_CALL)
		return add_waits(s, loop, n, room);
	rest_ns = usual_rest(s, loop, n->kind, room);
	for (size_t i = next_of_kind(s, loop->first_child, n->kind), next; i != UNIT_NONE;
	     i = next) {
		const struct step_unit *u = &s->f->units[i];
		size_t follows = next_iteration(s, i, n->kind);
		int64_t end_ns = u->end_ns;
		bool by_library;

		next = next_of_kind(s, u->next, n->kind);
		by_library = same_library_call(s, u, before) || same_library_call(s, u, next);
		before = i;
		if (!by_library && follows != UNIT_NONE)
			end_ns = s->f->units[follows].start_ns;
		else if (!by_library && rest_ns > 0)
			end_ns = u->end_ns + rest_ns < loop->end_ns ? u->end_ns + rest_ns
								    : loop->end_ns;
		if (found_add(s, u, n, u->start_ns, end_ns))
			return -1;
	}
	return 0;
}

static void add_function_name(struct buf *b, const struct search *s, uint64_t kind)
{
	const struct place *f = timeline_function(s->f->timeline, (uint32_t)kind);
	const char *slash = strrchr(f->file, '/');

	if (!strcmp(f->name, "<module>"))
		buf_add_str(b, slash ? slash + 1 : f->file);
	else
		buf_add_str(b, f->name);
}

/* "infer in main", "GPT2LMHeadModel in serve.py" */
static int name_series(struct search *s, struct series *n)
{
	struct buf b;
	char *name = NULL;

	buf_init(&b);
	if (n->kind & UNIT_LAYER) {
		const struct trace_layer *l = trace_layer(s->f->trace, (uint32_t)n->kind);

		buf_add_str(&b, l ? l->class_name : "(unknown)");
	} else if (n->kind & UNIT_GRAPH) {
		buf_add_str(&b, "CUDA graph");
	} else if (n->kind & UNIT_CALL) {
		if ((uint32_t)n->kind)
			buf_printf(&b, "line %" PRIu32, (uint32_t)n->kind);
		else
			buf_add_str(&b, "GPU work");
	} else {
		add_function_name(&b, s, n->kind);
	}
	if (n->function != NO_PARENT) {
		buf_add_str(&b, " in ");
		add_function_name(&b, s, n->function);
	}
	if (!b.failed)
		name = arena_alloc(s->out->names, b.len + 1);
	if (name)
		memcpy(name, buf_string(&b), b.len + 1);
	n->name = name;
	buf_release(&b);
	return name ? 0 : -1;
}

static struct found_kind kind_of(const struct search *s, const struct series *n)
{
	const struct step_unit *parent = parent_of(s, &s->f->units[n->first]);
	struct found_kind kind = {
		.name = n->name,
		.has_steps = n->has_loop,
		.piped = parent && parent->librarys,
	};

	if (is_function(n->kind)) {
		kind.call_of = (uint32_t)n->kind + 1;
		kind.loop_of = n->function != NO_PARENT ? (uint32_t)n->function + 1 : 0;
	}
	return kind;
}

static int name_all(struct search *s)
{
	s->out->kinds = calloc(s->series_count + 1, sizeof(*s->out->kinds));
	if (!s->out->kinds)
		return -1;
	for (size_t i = 0; i < s->series_count; i++) {
		if (name_series(s, &s->series_items[i]))
			return -1;
		s->out->kinds[s->out->kind_count++] = kind_of(s, &s->series_items[i]);
	}
	return 0;
}

/* What a loop does besides its iterations, again and again, and what a library calls. */
static bool stands_alone(struct search *s, const struct series *n)
{
	const struct step_unit *parent = parent_of(s, &s->f->units[n->first]);
	const struct caller *c = parent ? caller_of(s, parent) : NULL;

	if (n->count < STEP_REPEATS)
		return false;
	if (!parent)
		return is_function(n->kind);
	if (c->series == UNIT_NONE || &s->series_items[c->series] == n)
		return false;
	return 2 * n->between < n->count;
}

static int add_steps(struct search *s, int64_t *room)
{
	for (size_t i = 0; i < s->f->count; i++) {
		const struct step_unit *u = &s->f->units[i];
		const struct caller *c = u->known && is_function(u->kind) ? caller_of(s, u) : NULL;

		if (c && c->series != UNIT_NONE)
			count_between(s, u, s->series_items[c->series].kind);
	}
	if (name_all(s))
		return -1;
	for (size_t i = 0; i < s->f->count; i++) {
		const struct step_unit *u = &s->f->units[i];
		const struct caller *c = u->known && is_function(u->kind) ? caller_of(s, u) : NULL;
		const struct series *own = u->known ? series_of(s, u, i) : NULL;

		if (c && c->series != UNIT_NONE &&
		    s->series_items[c->series].count >= STEP_REPEATS &&
		    add_iterations(s, u, &s->series_items[c->series], room))
			return -1;
		if (own && stands_alone(s, own) && found_add(s, u, own, u->start_ns, u->end_ns))
			return -1;
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct series *x = *(struct series *const *)a, *y = *(struct series *const *)b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Modules of one class have one name here, and may be made anew for each call. */
static int count_by_name(struct search *s)
{
	struct series **order = calloc(s->series_count + 1, sizeof(struct series *));

	if (!order)
		return -1;
	for (size_t i = 0; i < s->series_count; i++)
		order[i] = &s->series_items[i];
	qsort(order, s->series_count, sizeof(struct series *), by_name);
	for (size_t i = 0, next; i < s->series_count; i = next) {
		size_t count = 0;

		for (next = i; next < s->series_count && !by_name(&order[i], &order[next]); next++)
			count += order[next]->count;
		while (i < next)
			order[i++]->count = count;
	}
	free(order);
	return 0;
}

/* All outermost calls of a layer, wherever they were made: the function is not known. */
static int add_layers(struct search *s)
{
	s->out->by_layer = true;
	for (size_t i = 0; i < s->f->count; i++) {
		struct step_unit *u = &s->f->units[i];

		u->parent = UNIT_NONE;
		u->known &= is_layer(u);
	}
	if (count_units(s) || name_all(s) || count_by_name(s))
		return -1;
	for (size_t i = 0; i < s->f->count; i++) {
		const struct step_unit *u = &s->f->units[i];
		const struct series *n = u->known ? series_of(s, u, i) : NULL;

		if (n && n->count >= STEP_REPEATS && found_add(s, u, n, u->start_ns, u->end_ns))
			return -1;
	}
	return 0;
}

static bool most_are_called_from_nowhere(const struct search *s)
{
	size_t layers = 0, stray = 0;

	for (size_t i = 0; i < s->f->count; i++) {
		const struct step_unit *u = &s->f->units[i];

		layers += is_layer(u) && u->known;
		stray += is_layer(u) && u->known && u->parent == UNIT_NONE;
	}
	return (double)stray > STRAY_SHARE * (double)layers;
}

static int search_run(struct search *s)
{
	int64_t *room = calloc(s->f->count + 1, sizeof(*room));
	int rc = -1;

	if (!room)
		return -1;
	link_units(s);
	if (most_are_called_from_nowhere(s)) {
		rc = add_layers(s);
	} else if (!count_units(s)) {
		choose_starts(s);
		mark_loops(s);
		rc = add_steps(s, room);
	}
	free(room);
	return rc;
}

int step_finder_find(struct step_finder *f, struct arena *names, struct found_steps *out)
{
	struct search s = { .f = f, .out = out };
	int rc = 0;

	memset(out, 0, sizeof(*out));
	out->names = names;
	if (f->failed)
		return -1;
	pair_map_init(&s.callers);
	pair_map_init(&s.series);
	if (f->count)
		rc = step_pipelines_settle(f) ? -1 : search_run(&s);
	pair_map_release(&s.callers);
	pair_map_release(&s.series);
	free(s.caller_items);
	free(s.series_items);
	return rc;
}
