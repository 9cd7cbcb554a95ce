#include <math.h>

#include "rules/finding_builder.h"

/* Only what no other finding takes: the bound is FR-4's. */
static bool evaluate(struct finding_builder *d)
{
	double idle_ms = d->m->idle_share * d->m->total_time;
	double left_ms = idle_ms - d->explained_ms - fmax(d->m->idle_time, 0);
	const struct gpu_top_line *top =
		d->use->long_late.top.where.name ? &d->use->long_late.top : &d->use->launch_top;
	const char *name = finding_place_name(d, &top->where);

	/* Who is asked for little has a GPU that is idle, whatever a request does with it. */
	if (finding_share(d, left_ms) <= 0.10 || d->m->gpu_no_load_share > 0.5)
		return false;
	finding_where(d, &top->where);
	finding_evidence(d, FROM_ACTIVITIES, finding_strength(finding_share(d, left_ms), 0.10),
			 "the GPU is idle for %s per step (%.0f %%)", finding_ms(d, idle_ms),
			 100 * d->m->idle_share);
	/* The same gaps from the other side: they do not say why. */
	finding_evidence(d, FROM_CUDA_CALLS, 0.3,
			 "late launches account for %s per step, mostly before those of %s",
			 finding_ms(d, d->m->late_gap_time + d->m->launch_gap_time), name);
	/* How much of it a fix reaches is unknown as long as nothing says why. */
	finding_saving(d, 0, left_ms);
	finding_suggest(d,
			"See the report's table of why the GPU was idle: it has one row per cause");
	finding_suggest(d,
			"Serve requests concurrently (several streams or workers), so that one "
			"computes while %s prepares another",
			name);
	finding_suggest(d,
			"Mark the parts of the step with inferscope.scope() to see what the %s "
			"consist of",
			finding_ms(d, left_ms));
	return true;
}

const struct rule rule_gpu_idle = {
	.id = "gpu-idle",
	.title = "The GPU is idle",
	.condition = "idle_share > 0.10",
	.evaluate = evaluate,
	.last = true,
};
