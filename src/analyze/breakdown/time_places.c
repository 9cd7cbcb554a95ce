#include "analyze/breakdown/step_sweep.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/classes/stack_class.h"
#include "analyze/figures/stats.h"
#include "base/array.h"

void time_places_init(struct time_places *p)
{
	memset(p, 0, sizeof(*p));
	pair_map_init(&p->at);
}

void time_places_release(struct time_places *p)
{
	free(p->items);
	pair_map_release(&p->at);
	memset(p, 0, sizeof(*p));
}

static bool is_same(const struct time_place *x, const struct time_place *y)
{
	return x->stack == y->stack && x->what == y->what && x->waited_for == y->waited_for &&
	       x->user == y->user && x->inner == y->inner;
}

static size_t find(struct time_places *p, const struct time_place *wanted)
{
	/* A stack has one set of functions. */
	bool by_stack = wanted->stack != 0;
	uint64_t a = (uint64_t)wanted->waited_for << 32 | (uint64_t)wanted->what << 1 | by_stack;
	uint64_t b = by_stack ? wanted->stack : (uint64_t)wanted->user << 32 | wanted->inner;
	size_t at = pair_map_find(&p->at, a, b);
	struct time_place *grown;

	if (at != PAIR_NONE)
		return at;
	grown = array_grow(p->items, &p->cap, p->count + 1, sizeof(*grown));
	if (!grown)
		return SIZE_MAX;
	p->items = grown;
	if (pair_map_put(&p->at, a, b, p->count))
		return SIZE_MAX;
	grown[p->count] = *wanted;
	return p->count++;
}

/* A program is at few places at a time: most are found without a search. */
size_t time_places_find(struct time_places *p, const struct time_place *wanted)
{
	uint32_t hash = ((wanted->stack * 31 + wanted->user) * 31 + wanted->inner) * 31 +
			(uint32_t)wanted->what;
	uint32_t *recent = &p->recent[(hash * UINT32_C(0x9e3779b1) >> 16) % PLACES_RECENT];
	size_t at;

	if (*recent && is_same(&p->items[*recent - 1], wanted))
		return *recent - 1;
	at = find(p, wanted);
	*recent = at < UINT32_MAX ? (uint32_t)at + 1 : 0;
	return at;
}

static struct place place_of_function(const struct timeline *tl, uint32_t function)
{
	const struct place *f;

	if (function == NO_FUNCTION)
		return (struct place){ 0 };
	f = timeline_function(tl, function);
	return *f;
}

static struct place place_of_line(const struct place *p)
{
	return (struct place){ p->name, p->file ? p->file : "", p->line };
}

static bool same_function(const struct place *x, const struct place *y)
{
	return x->name && y->name && !strcmp(x->name, y->name) && !strcmp(x->file, y->file);
}

/* Who had the lock that a function waited for most of the time. */
static struct place holder_for(const struct analysis_waits *w, const struct place *waiter)
{
	for (size_t i = 0; i < w->count; i++) {
		if (same_function(&w->items[i].waiter, waiter) && w->items[i].holder.name)
			return w->items[i].holder;
	}
	return (struct place){ 0 };
}

struct time_cause time_place_name(const struct time_place *p, const struct analysis *a,
				  const struct timeline *tl)
{
	struct time_cause c = { .what = p->what };
	struct place innermost, user;

	if (p->stack) {
		gpu_stack_places(a->gpu.timeline, p->stack, &innermost, &user);
		c.where = place_of_line(&user);
		c.inner = place_of_line(&innermost);
	} else {
		c.inner = place_of_function(tl, p->inner);
		c.where = p->user == NO_FUNCTION ? c.inner : place_of_function(tl, p->user);
	}
	if (p->waited_for) {
		gpu_stack_places(a->gpu.timeline, p->waited_for, &innermost, &user);
		c.waited_for = place_of_line(&user);
	} else if (p->what == TIME_LOCK_WAIT) {
		c.waited_for = holder_for(&a->locks, &c.inner);
	}
	if (same_function(&c.where, &c.inner))
		c.inner = (struct place){ 0 };
	return c;
}

static int compare_where(const struct place *x, const struct place *y)
{
	int order = compare_texts(x->file, y->file);

	if (!order && x->line != y->line)
		order = x->line < y->line ? -1 : 1;
	return order ? order : compare_texts(x->name, y->name);
}

int time_cause_compare(const struct time_cause *x, const struct time_cause *y)
{
	if (x->what != y->what)
		return x->what < y->what ? -1 : 1;
	return compare_where(&x->where, &y->where);
}

int time_cause_compare_called(const struct time_cause *x, const struct time_cause *y)
{
	int order = time_cause_compare(x, y);

	if (!order)
		order = compare_texts(x->inner.file, y->inner.file);
	return order ? order : compare_texts(x->inner.name, y->inner.name);
}

static int most_first(const struct time_cause *x, const struct time_cause *y)
{
	int order;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	order = compare_where(&x->inner, &y->inner);
	return order ? order : compare_where(&x->waited_for, &y->waited_for);
}

int time_cause_called(const void *a, const void *b)
{
	int order = time_cause_compare_called(a, b);

	return order ? order : most_first(a, b);
}

int time_cause_identity(const void *a, const void *b)
{
	int order = time_cause_compare(a, b);

	return order ? order : most_first(a, b);
}

int time_cause_order(const void *a, const void *b)
{
	const struct time_cause *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return time_cause_identity(a, b);
}
