#include <inttypes.h>

#include "analyze/classes/code_kind.h"
#include "rules/finding_builder.h"

/* Once in so many steps: less often a model is loaded when it is first needed, or replaced. */
#define STEPS_PER_LOAD 5
/* Without steps: as often it is no start of several models. */
#define LOADS_LEAST 5

/* The loading function that was called most often; NULL: none was recorded. */
static const struct analysis_function *loader(const struct finding_builder *d)
{
	const struct analysis_function *most = NULL;

	for (size_t i = 0; i < d->a->function_count; i++) {
		const struct analysis_function *f = &d->a->functions[i];

		if (f->calls && (!most || f->calls > most->calls) &&
		    code_kind(f->name, f->file) == CODE_BUILDS)
			most = f;
	}
	return most;
}

/*
 * Without steps it is the program's start, unless the time is that from the model's first call to
 * its last and it was done several times.
 */
static bool loads_between_calls(const struct finding_builder *d, const struct analysis_function *f)
{
	return d->step->model_parts && f && f->calls >= LOADS_LEAST;
}

/* The copies of what the same function loads: its weights on their way to the device. */
static double copies_ms(const struct finding_builder *d, const struct place *function)
{
	double ms = 0;

	for (size_t i = 0; i < d->parts->cause_count; i++) {
		const struct time_cause *c = &d->parts->causes[i];

		if (c->what == TIME_H2D && place_same_function(&c->where, function))
			ms += finding_cause_ms(d, c);
	}
	return ms;
}

static bool evaluate(struct finding_builder *d)
{
	const struct time_cause *c = finding_cause(d, TIME_MODEL_LOAD);
	const struct analysis_function *f = loader(d);
	double ms = finding_part(d, TIME_MODEL_LOAD), copies;
	const char *name;

	if (!c || (d->step->source == STEP_WHOLE_RUN && !loads_between_calls(d, f)))
		return false;
	if (d->step->source != STEP_WHOLE_RUN && f && !f->throttled &&
	    f->calls * STEPS_PER_LOAD < d->parts->steps)
		return false;
	copies = copies_ms(d, &c->where);
	finding_where(d, &c->where);
	name = finding_place_name(d, &c->where);
	finding_evidence(d, FROM_TIMES, finding_strength(finding_share(d, ms), 0.10),
			 "a model is loaded, built or moved for %s %s (%s), from %s",
			 finding_ms(d, ms), finding_of_step(d), finding_percent(d, ms), name);
	if (f)
		finding_evidence(d, FROM_LAYERS, 0.7, "%s was called at least %" PRIu64 " times",
				 f->name, f->calls);
	if (finding_share(d, copies) > 0.05)
		finding_evidence(d, FROM_ACTIVITIES, 0,
				 "what %s loads is then copied to the GPU: %s %s", name,
				 finding_ms(d, copies), finding_of_step(d));
	finding_evidence_samples(d, c->inner.name ? &c->inner : &c->where);
	finding_evidence_idle(d);
	finding_claim(d, TIME_MODEL_LOAD, ms);
	finding_claim(d, TIME_H2D, copies);
	finding_saving(d, ms + copies, ms + copies);
	finding_suggest(d,
			"Load the model once, when the process starts, and keep it: %s does so %s",
			name, f ? "again and again" : "while requests are served");
	finding_suggest(d,
			"Keep several models in a cache that is filled at the start (a dictionary, "
			"functools.lru_cache) where %s chooses between them",
			name);
	finding_suggest(d,
			"Convert the model to its precision and move it to its device once, before "
			"serving, not in %s",
			name);
	return true;
}

const struct rule rule_model_reload = {
	.id = "model-reload",
	.title = "A model is loaded or built while requests are served",
	.condition = "model_load_time / total_time > 0.10",
	.evaluate = evaluate,
};
