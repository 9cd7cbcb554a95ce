#include <math.h>
#include <string.h>

#include "rules/draft.h"
#include "rules/findings/host_code.h"

/* Does the program say that it needs no gradients?  Then it has followed that advice. */
static bool infers(const struct draft *d)
{
	static const char file[] = "/torch/autograd/grad_mode.py", name[] = "inference_mode.";

	for (size_t i = 0; i < d->a->function_count; i++) {
		const struct analysis_function *f = &d->a->functions[i];
		size_t n = strlen(f->file);

		if (!strncmp(f->name, name, sizeof(name) - 1) && n >= sizeof(file) - 1 &&
		    !strcmp(f->file + n - (sizeof(file) - 1), file))
			return true;
	}
	return false;
}

/*
 * What is between launches that follow each other quickly is launch-bound's, and what stands on
 * lines that wait for the GPU sync-per-step's.
 */
static bool look(struct draft *d)
{
	const struct time_cause *c = draft_cause(d, TIME_FRAMEWORK);
	double ms = draft_part(d, TIME_FRAMEWORK) - fmax(d->m->launch_gap_time, 0) -
		    waiting_lines_ms(d, TIME_FRAMEWORK, TIME_SYNC_WAIT);
	const char *name;

	if (!c || draft_share(d, ms) <= 0.10)
		return false;
	draft_where(d, &c->where);
	name = draft_name(d, &c->where);
	draft_evidence(d, FROM_TIMES, draft_strength(draft_share(d, ms), 0.10),
		       "the framework's own code takes %s of a step (%s) outside of launches, most "
		       "of it below %s%s%s",
		       draft_ms(d, ms), draft_percent(d, ms), name, c->inner.name ? ", in " : "",
		       c->inner.name ? c->inner.name : "");
	draft_evidence_idle(d);
	draft_evidence_samples(d, c->inner.name ? &c->inner : &c->where);
	draft_claim(d, TIME_FRAMEWORK, ms);
	draft_saving(d, ms / 2, ms / 4, ms);
	if (infers(d))
		draft_suggest(d,
			      "Call the model in %s without hooks and without wrappers of its own "
			      "(it runs under torch.inference_mode() already)",
			      name);
	else
		draft_suggest(d,
			      "Call the model in %s under torch.inference_mode() and without hooks",
			      name);
	draft_suggest(d,
		      "Compile what %s calls (torch.compile), which does without the framework's "
		      "Python code",
		      name);
	draft_suggest(d,
		      "Call the model itself instead of its convenience layer where %s spends "
		      "%s a step%s%s",
		      name, draft_ms(d, ms), c->inner.name ? " in " : "",
		      c->inner.name ? c->inner.name : "");
	return true;
}

const struct rule rule_framework_overhead = {
	.id = "framework-overhead",
	.title = "The framework's own code keeps the GPU waiting",
	.title_without_gpu = "The framework's own code takes much of the step",
	.condition = "framework_time / total_time > 0.10",
	.look = look,
};
