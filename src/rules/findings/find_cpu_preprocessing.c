#include <math.h>

#include "rules/findings/host_code.h"

/* A healthy step handles its results on the host too: a tenth of it is no reason to act. */
static bool evaluate(struct finding_builder *d)
{
	const struct time_cause *c = host_top(d, HOST_CODE);
	double ms = host_ms(d, HOST_CODE), top_ms = fmin(ms, finding_cause_ms(d, c));
	const char *name;

	if (!c || finding_share(d, ms) <= 0.10)
		return false;
	finding_where(d, &c->where);
	name = finding_place_name(d, &c->where);
	finding_evidence(d, FROM_TIMES, finding_strength(finding_share(d, ms), 0.10),
			 "Python code and libraries take %s %s (%s)%s; most of it, %s, in %s",
			 finding_ms(d, ms), finding_of_step(d), finding_percent(d, ms),
			 finding_meanwhile(d), finding_ms(d, top_ms), name);
	host_doubt_purpose(d);
	if (host_may_unmap(d, c)) {
		d->doubtful = true;
		finding_evidence(d, FROM_TIMES, 0,
				 "the steps map new memory elsewhere, and this line may be where "
				 "it is given back: see page-faults");
	}
	finding_evidence_idle(d);
	finding_evidence_samples(d, &c->where);
	host_claim(d, HOST_CODE);
	/* The function that is named, or all such code. */
	finding_saving(d, fmin(ms, host_function_ms(d, HOST_CODE, &c->where)), ms);
	finding_suggest(d,
			"Prepare the next batch in another process or thread while the model "
			"computes the current one: %s takes %s %s",
			name, finding_ms(d, top_ms), finding_of_step(d));
	finding_suggest(d,
			"Replace the Python loop in %s with one tensor or array operation, or with "
			"a library that runs in native code",
			name);
	finding_suggest(
		d, "%s %s%s", d->use->gpu ? "Move the work of" : "Cache the result of", name,
		d->use->gpu ? " to the GPU, or cache its result where inputs repeat"
			    : " where inputs repeat, or prepare inputs before they are requested");
	return true;
}

const struct rule rule_cpu_preprocessing = {
	.id = "cpu-preprocessing",
	.title = "The host prepares data while the GPU waits",
	.title_without_gpu = "Preparing data takes much of the step",
	.condition =
		"(cpu_preprocessing_time + cpu_compute_time + framework_time) / total_time > 0.10",
	.evaluate = evaluate,
};
