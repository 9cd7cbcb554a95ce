#include <math.h>

#include "rules/findings/host_code.h"

/* A healthy step handles its results on the host too: a tenth of it is no reason to act. */
static bool look(struct draft *d)
{
	const struct time_cause *c = host_top(d, HOST_CODE);
	double ms = host_ms(d, HOST_CODE), top_ms = fmin(ms, draft_cause_ms(d, c));
	const char *name;

	if (!c || draft_share(d, ms) <= 0.10)
		return false;
	draft_where(d, &c->where);
	name = draft_name(d, &c->where);
	draft_evidence(d, FROM_TIMES, draft_strength(draft_share(d, ms), 0.10),
		       "Python code and libraries take %s %s (%s)%s; most of it, %s, in %s",
		       draft_ms(d, ms), draft_of_step(d), draft_percent(d, ms), draft_meanwhile(d),
		       draft_ms(d, top_ms), name);
	draft_evidence_idle(d);
	draft_evidence_samples(d, &c->where);
	host_claim(d, HOST_CODE);
	draft_saving(d, fmax(fmin(ms, d->m->total_time - ms), ms / 2), ms / 3, ms);
	draft_suggest(d,
		      "Prepare the next batch in another process or thread while the model works "
		      "on this one: %s takes %s %s",
		      name, draft_ms(d, top_ms), draft_of_step(d));
	draft_suggest(d,
		      "Replace the Python loop in %s by one tensor or array operation, or by a "
		      "library that does it in native code",
		      name);
	draft_suggest(d, "%s %s%s", d->use->gpu ? "Move the work of" : "Cache the result of", name,
		      d->use->gpu
			      ? " to the GPU, or cache its result where inputs repeat"
			      : " where inputs repeat, or prepare them before they are asked for");
	return true;
}

const struct rule rule_cpu_preprocessing = {
	.id = "cpu-preprocessing",
	.title = "The host prepares data while the GPU waits",
	.title_without_gpu = "Preparing data takes much of the step",
	.condition =
		"(cpu_preprocessing_time + cpu_compute_time + framework_time) / total_time > 0.10",
	.look = look,
};
