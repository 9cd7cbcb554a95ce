#include <math.h>

#include "rules/findings/host_code.h"

/* Its results are new arrays: what mapping them takes goes where the work goes. */
static bool evaluate(struct finding_builder *d)
{
	const struct time_cause *c = host_top(d, HOST_NUMPY);
	double faults_ms = host_faults_ms(d, HOST_NUMPY), ms = host_ms(d, HOST_NUMPY) + faults_ms;
	const char *name;

	if (!c || finding_share(d, ms) <= 0.10)
		return false;
	finding_where(d, &c->where);
	name = finding_place_name(d, &c->where);
	finding_evidence(d, FROM_TIMES, finding_strength(finding_share(d, ms), 0.10),
			 "array code on the host takes %s %s (%s)%s, mostly called from %s",
			 finding_ms(d, ms), finding_of_step(d), finding_percent(d, ms),
			 finding_meanwhile(d), name);
	finding_evidence(d, FROM_NATIVE, 0.5, "native samples in %s are in numpy", name);
	if (finding_share(d, faults_ms) > 0.05)
		finding_evidence(d, FROM_SERIES,
				 finding_strength(finding_share(d, faults_ms), 0.05),
				 "%s of it (%s) are page faults: each result is newly allocated "
				 "memory",
				 finding_ms(d, faults_ms), finding_percent(d, faults_ms));
	host_doubt_purpose(d);
	finding_evidence_idle(d);
	finding_evidence_samples(d, &c->where);
	host_claim(d, HOST_NUMPY);
	finding_claim(d, TIME_PAGE_FAULTS, faults_ms);
	/* The function that is named with its faults, or all such code. */
	finding_saving(d, fmin(ms, host_function_ms(d, HOST_NUMPY, &c->where)), ms);
	finding_suggest(d,
			d->use->gpu
				? "Copy the raw data to the GPU and do the work of %s there with "
				  "torch operations"
				: "Let %s process whole batches in place (out=): each array "
				  "avoided saves memory writes",
			name);
	if (finding_share(d, faults_ms) > 0.05)
		finding_suggest(
			d,
			"Reuse the arrays of %s (out=, fill(), copyto()): that alone saves the %s "
			"of page faults",
			name, finding_ms(d, faults_ms));
	finding_suggest(d,
			"Copy the data before converting it to a larger type: uint8 is a quarter "
			"of float32 (%s %s could be saved)",
			finding_ms(d, ms), finding_of_step(d));
	finding_suggest(d,
			"Do it for the next batch in a worker while the %s computes; numpy "
			"releases the GIL during its work",
			d->use->gpu ? "GPU" : "model");
	return true;
}

const struct rule rule_host_numpy = {
	.id = "host-numpy",
	.title = "Array operations run on the host instead of the GPU",
	.title_without_gpu = "Array operations around the model take much of the step",
	.condition =
		"(cpu_preprocessing_time + cpu_compute_time + framework_time) / total_time > 0.10",
	.evaluate = evaluate,
};
