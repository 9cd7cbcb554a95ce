#include <inttypes.h>
#include <math.h>

#include "rules/draft.h"

/* How much longer slow steps are because of collections, per slow step. */
static double collecting_ms(const struct draft *d)
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
static bool look(struct draft *d)
{
	const struct time_cause *c = draft_cause(d, TIME_GC);
	const struct analysis_gc *gc = &d->a->gc;
	double ms = draft_part(d, TIME_GC), more_ms = collecting_ms(d);
	double typical_ms = d->parts->slow.typical_mean_ns / 1e6;
	double slow_ms = d->parts->slow.mean_ns / 1e6 - typical_ms;
	const char *name;

	d->tail = typical_ms > 0 && more_ms > 0.2 * fmax(typical_ms, slow_ms);
	if (draft_share(d, ms) <= 0.05 && !d->tail)
		return false;
	draft_where(d, c ? &c->where : NULL);
	name = draft_name(d, c ? &c->where : NULL);
	draft_evidence(d, FROM_GC, draft_strength(fmax(draft_share(d, ms), 0.05), 0.025),
		       "%" PRIu64 " garbage collections, %" PRIu64
		       " of them of all objects; the longest took %s",
		       gc->count, gc->by_generation[GC_GENERATIONS - 1],
		       draft_ms(d, d->m->gc_longest));
	draft_evidence(d, FROM_TIMES,
		       draft_strength(fmax(draft_share(d, ms) / 0.05,
					   typical_ms > 0 ? more_ms / typical_ms / 0.2 : 0),
				      1),
		       "they take %s %s%s%s%s%s, most of it in %s", draft_ms(d, ms),
		       draft_of_step(d), d->step->source == STEP_WHOLE_RUN ? "" : " on average",
		       more_ms > 0 ? ", and make slow steps " : "",
		       more_ms > 0 ? draft_ms(d, more_ms) : "", more_ms > 0 ? " longer" : "", name);
	draft_evidence_idle(d);
	draft_claim(d, TIME_GC, ms);
	draft_saving(d, ms, ms / 2, ms);
	if (are_asked_for(gc))
		draft_suggest(d,
			      "Take gc.collect() out of %s: there are more full collections than "
			      "the collector makes by itself, somebody asks for them",
			      name);
	draft_suggest(d, "Call gc.freeze() after the model is loaded, so that collections do not "
			 "look at its objects again");
	draft_suggest(d,
		      "Keep collections out of %s: gc.disable() while requests are served, "
		      "gc.collect() between them",
		      name);
	draft_suggest(d,
		      "Make fewer objects that refer to each other in %s (tensors instead of lists "
		      "of lists), or raise gc.set_threshold(): %" PRIu64 " collections were made",
		      name, gc->count);
	return true;
}

const struct rule rule_gc_pause = {
	.id = "gc-pause",
	.title = "Garbage collection stops the steps",
	.condition = "gc_time > 0",
	.look = look,
};
