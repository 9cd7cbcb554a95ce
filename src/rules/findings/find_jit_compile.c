#include "rules/draft.h"

/* Why PyTorch compiled again, of the function that took most of the time. */
static void tell_reason(struct draft *d)
{
	const struct analysis_torch *t = &d->a->torch;
	size_t i = 0;

	while (i < t->compiled_count && !t->compiled[i].reason_count)
		i++;
	if (i == t->compiled_count)
		return;
	draft_evidence(d, FROM_SCOPES, 0, "%s was compiled again because: %s%s",
		       t->compiled[i].function, t->compiled[i].reasons[0].text,
		       t->compiled[i].reason_count > 1 ? ", and for other reasons" : "");
}

/* Warm-up is left out of the figures: what compiles here compiles again and again. */
static bool look(struct draft *d)
{
	const struct time_cause *c = draft_cause(d, TIME_COMPILE);
	double ms = draft_part(d, TIME_COMPILE), n = (double)d->use->steps;
	double modules = n > 0 ? (double)d->use->calls[CUDA_CALL_MODULE_LOAD].count / n : 0;
	const char *name = draft_name(d, c ? &c->where : NULL);
	bool told = d->a->torch.compiled_count > 0;

	draft_where(d, c ? &c->where : NULL);
	/* Before 3.12 PyTorch is not asked when it compiles: by samples alone it is never sure. */
	draft_evidence(d, d->step->model_parts && !told ? FROM_TIMES : FROM_SCOPES,
		       draft_strength(draft_share(d, ms), 0.05),
		       "compilation takes %s %s (%s)%s, from %s", draft_ms(d, ms), draft_of_step(d),
		       draft_percent(d, ms), d->step->model_parts ? "" : " after warm-up", name);
	tell_reason(d);
	if (modules > 0)
		draft_evidence(d, FROM_CUDA_CALLS, draft_strength(modules, 0.2),
			       "%s modules a step are loaded onto the GPU",
			       draft_number(d, modules));
	draft_evidence_idle(d);
	draft_evidence_samples(d, c && c->inner.name ? &c->inner : NULL);
	if (d->m->slow_excess_time > 0)
		draft_evidence(d, FROM_TIMES,
			       draft_strength(draft_share(d, d->m->slow_excess_time), 0.5),
			       "slow steps last %s longer than typical ones",
			       draft_ms(d, d->m->slow_excess_time));
	draft_claim(d, TIME_COMPILE, ms);
	draft_saving(d, ms, 0.7 * ms, ms);
	draft_suggest(d,
		      "Compile for changing shapes: torch.compile(dynamic=True), or mark what "
		      "changes in %s with torch._dynamo.mark_dynamic()",
		      name);
	draft_suggest(d,
		      "Pad the inputs of %s to a few sizes and run each of them once before "
		      "serving",
		      name);
	draft_suggest(d,
		      "See what makes it compile again: TORCH_LOGS=recompiles; %s %s are at stake",
		      draft_ms(d, ms), draft_a_step(d));
	return true;
}

const struct rule rule_jit_compile = {
	.id = "jit-compile",
	.title = "Code is compiled while requests are served",
	.condition = "compile_time / total_time > 0.05",
	.look = look,
};
