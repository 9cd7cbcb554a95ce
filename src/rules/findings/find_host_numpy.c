#include "rules/findings/host_code.h"

/* Its results are new arrays: what mapping them takes goes where the work goes. */
static bool look(struct draft *d)
{
	const struct time_cause *c = host_top(d, HOST_NUMPY);
	double faults_ms = host_faults_ms(d, HOST_NUMPY), ms = host_ms(d, HOST_NUMPY) + faults_ms;
	const char *name;

	if (!c || draft_share(d, ms) <= 0.10)
		return false;
	draft_where(d, &c->where);
	name = draft_name(d, &c->where);
	draft_evidence(d, FROM_TIMES, draft_strength(draft_share(d, ms), 0.10),
		       "array code on the host takes %s %s (%s)%s, most of it called from %s",
		       draft_ms(d, ms), draft_of_step(d), draft_percent(d, ms), draft_meanwhile(d),
		       name);
	draft_evidence(d, FROM_NATIVE, 0.5, "samples of native code in %s are numpy's", name);
	if (draft_share(d, faults_ms) > 0.05)
		draft_evidence(d, FROM_SERIES, draft_strength(draft_share(d, faults_ms), 0.05),
			       "%s of it (%s) are page faults: the results are new memory each "
			       "time",
			       draft_ms(d, faults_ms), draft_percent(d, faults_ms));
	draft_evidence_idle(d);
	draft_evidence_samples(d, &c->where);
	host_claim(d, HOST_NUMPY);
	draft_claim(d, TIME_PAGE_FAULTS, faults_ms);
	draft_saving(d, 0.8 * ms, ms / 3, ms);
	draft_suggest(d,
		      d->use->gpu
			      ? "Hand the raw data to the GPU and do what %s does with torch "
				"operations there"
			      : "Let %s work on whole batches, in place (out=): each array less "
				"is memory that is not written",
		      name);
	if (draft_share(d, faults_ms) > 0.05)
		draft_suggest(d,
			      "Keep the arrays of %s and fill them again (out=, fill(), copyto()): "
			      "that alone saves the %s of page faults",
			      name, draft_ms(d, faults_ms));
	draft_suggest(d,
		      "Copy the data before its type grows: uint8 is a quarter of float32 "
		      "(%s %s are at stake)",
		      draft_ms(d, ms), draft_of_step(d));
	draft_suggest(d,
		      "Do it for the next batch in a worker while the %s computes; numpy lets "
		      "other threads run meanwhile",
		      d->use->gpu ? "GPU" : "model");
	return true;
}

const struct rule rule_host_numpy = {
	.id = "host-numpy",
	.title = "Array operations run on the host instead of the GPU",
	.title_without_gpu = "Array operations around the model take much of the step",
	.condition =
		"(cpu_preprocessing_time + cpu_compute_time + framework_time) / total_time > 0.10",
	.look = look,
};
