#include "analyze/steps/step_finder.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/figures/pair_totals.h"

/* Of one call of a library's function. */
struct call_models {
	const struct step_unit *first; /* NULL: none was called yet */
	bool mixed;                    /* others are of other kinds */
};

/* Of all calls of a library's function, in one process. */
struct library_calls {
	size_t all, mixed;
};

/* NULL: out of memory. */
static struct library_calls *calls_of(const struct step_finder *f, struct pair_totals *functions,
				      const struct step_unit *u)
{
	return pair_totals_at(functions, trace_thread(f->trace, u->thread)->process, u->kind);
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

/* `calls`: by the position of the unit. */
static void compare_models(const struct step_finder *f, struct call_models *calls)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct step_unit *u = &f->units[i];
		struct call_models *call;

		if (u->parent == UNIT_NONE || !f->units[u->parent].librarys)
			continue;
		call = &calls[u->parent];
		if (!call->first)
			call->first = u;
		else
			call->mixed |= !same_model(f, call->first, u);
	}
}

static int count_calls(const struct step_finder *f, const struct call_models *calls,
		       struct pair_totals *functions)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct step_unit *u = &f->units[i];
		struct library_calls *c;

		if (!u->librarys || !u->known)
			continue;
		c = calls_of(f, functions, u);
		if (!c)
			return -1;
		c->all++;
		c->mixed += calls[i].mixed;
	}
	return 0;
}

static bool is_pipeline(const struct step_finder *f, struct pair_totals *functions,
			const struct step_unit *u)
{
	const struct library_calls *c = calls_of(f, functions, u);

	return c && c->all >= STEP_REPEATS && 2 * c->mixed > c->all;
}

int step_pipelines_settle(struct step_finder *f)
{
	struct call_models *calls = calloc(f->count + 1, sizeof(*calls));
	struct pair_totals functions;
	int rc = -1;

	pair_totals_init(&functions, sizeof(struct library_calls));
	if (calls) {
		compare_models(f, calls);
		rc = count_calls(f, calls, &functions);
	}
	/* What is in a call comes behind it. */
	for (size_t i = 0; !rc && i < f->count; i++) {
		struct step_unit *u = &f->units[i];

		if (u->librarys)
			u->known = u->known && is_pipeline(f, &functions, u);
		else if (f->lead == LEAD_RUNS && u->via != UINT32_MAX && f->units[u->parent].known)
			u->kind = u->via;
	}
	pair_totals_release(&functions);
	free(calls);
	return rc;
}
