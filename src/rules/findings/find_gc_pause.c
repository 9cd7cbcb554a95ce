#include <inttypes.h>
#include <math.h>

#include "rules/finding_builder.h"

/* How much longer slow steps are because of collections, per slow step. */
static double collecting_ms(const struct finding_builder *d)
{
	const struct slow_steps *s = &d->parts->slow;
	double ns = 0;

	for (size_t i = 0; i < s->cause_count; i++)
		if (s->causes[i].cause.what == TIME_GC)
			ns += s->causes[i].more_ns;
	return ns / 1e6;
}

/*
 * Do full collections come from gc.collect()?  By itself the collector makes one for ten of the
 * generation before, unless its thresholds were changed; twice as many are not its own.
 */
static bool are_asked_for(const struct analysis_gc *gc)
{
	uint64_t full = gc->by_generation[GC_GENERATIONS - 1];
	uint64_t younger = gc->by_generation[GC_GENERATIONS - 2];

	return full > 2 * (younger / 10 + 1);
}

/*
 * In the mean 5 %; or, of rare long ones, a fifth of the steps that they hit, and of what makes
 * these slow.
 */
static bool evaluate(struct finding_builder *d)
{
	const struct time_cause *c = finding_cause(d, TIME_GC);
	const struct analysis_gc *gc = &d->a->gc;
	double ms = finding_part(d, TIME_GC), more_ms = collecting_ms(d);
	double typical_ms = d->parts->slow.typical_mean_ns / 1e6;
	double slow_ms = d->parts->slow.mean_ns / 1e6 - typical_ms;
	const char *name;

	d->tail = typical_ms > 0 && more_ms > 0.2 * fmax(typical_ms, slow_ms);
	if (finding_share(d, ms) <= 0.05 && !d->tail)
		return false;
	finding_where(d, c ? &c->where : NULL);
	name = finding_place_name(d, c ? &c->where : NULL);
	finding_evidence(d, FROM_GC, finding_strength(fmax(finding_share(d, ms), 0.05), 0.025),
			 "%" PRIu64 " garbage collections, %" PRIu64 " of them full collections; "
			 "the longest took %s",
			 gc->count, gc->by_generation[GC_GENERATIONS - 1],
			 finding_ms(d, d->m->gc_longest));
	finding_evidence(d, FROM_TIMES,
			 finding_strength(fmax(finding_share(d, ms) / 0.05,
					       typical_ms > 0 ? more_ms / typical_ms / 0.2 : 0),
					  1),
			 "they take %s %s%s%s%s%s, mostly in %s", finding_ms(d, ms),
			 finding_of_step(d), d->step->source == STEP_WHOLE_RUN ? "" : " on average",
			 more_ms > 0 ? ", and make slow steps " : "",
			 more_ms > 0 ? finding_ms(d, more_ms) : "", more_ms > 0 ? " longer" : "",
			 name);
	finding_evidence_idle(d);
	finding_claim(d, TIME_GC, ms);
	finding_saving(d, ms, ms);
	if (are_asked_for(gc))
		finding_suggest(d,
				"Remove gc.collect() from %s: there are more full collections than "
				"the collector starts by itself, so the program requests them",
				name);
	finding_suggest(d, "Call gc.freeze() after the model is loaded, so that collections skip "
			   "its objects");
	finding_suggest(d,
			"Keep collections out of %s: gc.disable() while serving requests, "
			"gc.collect() between them",
			name);
	finding_suggest(
		d,
		"Create fewer objects that refer to each other in %s (tensors instead of lists of "
		"lists), or raise gc.set_threshold(): there were %" PRIu64 " collections",
		name, gc->count);
	return true;
}

const struct rule rule_gc_pause = {
	.id = "gc-pause",
	.title = "Garbage collection interrupts the steps",
	.condition = "gc_time > 0",
	.evaluate = evaluate,
};
