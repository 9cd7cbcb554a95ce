#include "rules/findings/host_code.h"

#include <string.h>

/* Of what is inside of models: then it is what the program is at. */
#define MOST 0.8

/* Operators that one function of the user's calls, or (NULL) all those inside of models. */
struct group {
	const struct finding_builder *builder;
	const struct place *where;
};

static bool is_in(const struct group *g, const struct time_cause *c)
{
	if (g->where ? !place_same_function(&c->where, g->where) : c->what != TIME_CPU_COMPUTE)
		return false;
	return host_is_model(g->builder, c);
}

/* What native code was called from: samples have the innermost function. */
static const struct place *innermost(const struct time_cause *c)
{
	return c->inner.name ? &c->inner : &c->where;
}

/* Has a cause of the group before this one the same innermost function? */
static bool is_counted(const struct group *g, size_t at)
{
	const struct time_cause *causes = g->builder->parts->causes;

	for (size_t i = 0; i < at; i++)
		if (place_same_function(innermost(&causes[i]), innermost(&causes[at])) &&
		    is_in(g, &causes[i]))
			return true;
	return false;
}

static struct operator_cost sum_group(const struct group *g)
{
	const struct step_breakdown *parts = g->builder->parts;
	struct operator_cost o = { 0 };
	uint64_t away;

	for (size_t i = 0; i < parts->cause_count; i++) {
		const struct time_cause *c = &parts->causes[i];

		if (!is_in(g, c))
			continue;
		if (!o.top)
			o.top = c;
		o.ms += finding_cause_ms(g->builder, c);
		if (c->what == TIME_CPU_COMPUTE)
			o.compute_ms += finding_cause_ms(g->builder, c);
		if (!is_counted(g, i))
			native_sums_add(&o.native, g->builder, innermost(c));
	}
	/* Of many functions each has few samples; where they are nearly all, all of them tell. */
	if (!native_is_enough(&o.native) &&
	    o.compute_ms > MOST * finding_part(g->builder, TIME_CPU_COMPUTE)) {
		o.native = (struct native_sums){ 0 };
		native_sums_add_frameworks(&o.native, g->builder);
	}
	away = o.native.samples[NATIVE_DISPATCH] + native_interpreted(&o.native);
	if (native_is_enough(&o.native))
		o.dispatch_ms = o.ms * (double)away / (double)o.native.known;
	return o;
}

/* Without steps it is not known when a program begins: what it imports runs at its own lines. */
static bool may_import(const struct finding_builder *d, const struct time_cause *c)
{
	return d->step->source == STEP_WHOLE_RUN && c->where.name &&
	       !strcmp(c->where.name, "<module>");
}

void operator_cost_find(struct operator_cost *out, const struct finding_builder *d)
{
	double top_ms = 0;

	*out = (struct operator_cost){ 0 };
	for (size_t i = 0; i < d->parts->cause_count; i++) {
		const struct time_cause *c = &d->parts->causes[i];
		struct operator_cost o;

		if (!host_is_model(d, c))
			continue;
		o = sum_group(&(struct group){ d, &c->where });
		/* Each function once: at its heaviest line. */
		if (o.top != c || 2 * o.dispatch_ms <= o.ms || may_import(d, c))
			continue;
		out->ms += o.ms;
		out->compute_ms += o.compute_ms;
		out->dispatch_ms += o.dispatch_ms;
		if (o.dispatch_ms > top_ms) {
			top_ms = o.dispatch_ms;
			out->top = c;
			out->native = o.native;
		}
	}
}

void operator_cost_of_models(struct operator_cost *out, const struct finding_builder *d)
{
	*out = sum_group(&(struct group){ d, NULL });
}
