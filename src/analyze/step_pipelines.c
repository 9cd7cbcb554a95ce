#include "analyze/step_pipelines.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "timeline/pair_map.h"

/* A library's function, in one process. */
struct library_calls {
	size_t all, mixed;
};

struct tally {
	const struct step_finder *f;
	struct pair_map at; /* (process, function) */
	struct library_calls *items;
	size_t count, cap;
};

/* NULL: out of memory. */
static struct library_calls *calls_of(struct tally *t, const struct step_unit *u)
{
	uint32_t process = trace_thread(t->f->trace, u->thread)->process;
	size_t at = pair_map_find(&t->at, process, u->kind);
	struct library_calls *c;

	if (at != PAIR_NONE)
		return &t->items[at];
	c = array_grow(t->items, &t->cap, t->count + 1, sizeof(*c));
	if (!c)
		return NULL;
	t->items = c;
	if (pair_map_put(&t->at, process, u->kind, t->count))
		return NULL;
	c[t->count] = (struct library_calls){ 0 };
	return &c[t->count++];
}

static const char *class_of(const struct step_finder *f, const struct step_unit *u)
{
	const struct trace_layer *l =
		u->kind & UNIT_LAYER ? trace_layer(f->trace, (uint32_t)u->kind) : NULL;

	return l ? l->class_name : NULL;
}

/* A module may be made anew for each call. */
static bool same_model(const struct step_finder *f, const struct step_unit *x,
		       const struct step_unit *y)
{
	const char *a = class_of(f, x), *b = class_of(f, y);

	if (a && b)
		return !strcmp(a, b);
	return x->kind == y->kind && (f->lead != LEAD_RUNS || x->via == y->via);
}

static void compare_models(struct step_finder *f)
{
	for (size_t i = 0; i < f->count; i++) {
		struct step_unit *u = &f->units[i];
		struct step_unit *call = u->parent == UNIT_NONE ? NULL : &f->units[u->parent];

		if (!call || !call->librarys)
			continue;
		if (call->first_model == UNIT_NONE)
			call->first_model = i;
		else
			call->mixed |= !same_model(f, &f->units[call->first_model], u);
	}
}

static int count_calls(struct tally *t)
{
	for (size_t i = 0; i < t->f->count; i++) {
		const struct step_unit *u = &t->f->units[i];
		struct library_calls *c;

		if (!u->librarys || !u->known)
			continue;
		c = calls_of(t, u);
		if (!c)
			return -1;
		c->all++;
		c->mixed += u->mixed;
	}
	return 0;
}

static bool is_pipeline(struct tally *t, const struct step_unit *u)
{
	const struct library_calls *c = calls_of(t, u);

	return c && c->all >= STEP_REPEATS && 2 * c->mixed > c->all;
}

int step_pipelines_settle(struct step_finder *f)
{
	struct tally t = { .f = f };
	int rc;

	pair_map_init(&t.at);
	compare_models(f);
	rc = count_calls(&t);
	/* What is in a call comes behind it. */
	for (size_t i = 0; !rc && i < f->count; i++) {
		struct step_unit *u = &f->units[i];

		if (u->librarys)
			u->known = u->known && is_pipeline(&t, u);
		else if (f->lead == LEAD_RUNS && u->via != UINT32_MAX && f->units[u->parent].known)
			u->kind = u->via;
	}
	pair_map_release(&t.at);
	free(t.items);
	return rc;
}
