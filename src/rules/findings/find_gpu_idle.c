#include <math.h>

#include "rules/draft.h"

/* Only what no other finding takes: the bound is FR-4's. */
static bool look(struct draft *d)
{
	double idle_ms = d->m->idle_share * d->m->total_time;
	double left_ms = idle_ms - d->explained_ms - fmax(d->m->idle_time, 0);
	const struct use_top *top =
		d->use->long_late.top.where.name ? &d->use->long_late.top : &d->use->launch_top;
	const char *name = draft_name(d, &top->where);

	/* Who is asked for little has a GPU that is idle, whatever a request does with it. */
	if (draft_share(d, left_ms) <= 0.10 || d->m->gpu_no_load_share > 0.5)
		return false;
	draft_where(d, &top->where);
	draft_evidence(d, FROM_ACTIVITIES, draft_strength(draft_share(d, left_ms), 0.10),
		       "the GPU has nothing to do for %s of a step (%.0f %%)", draft_ms(d, idle_ms),
		       100 * d->m->idle_share);
	/* The same gaps from the other side: they do not say why. */
	draft_evidence(d, FROM_CUDA_CALLS, 0.3,
		       "launches come late for %s of a step, most of it before those of %s",
		       draft_ms(d, d->m->late_gap_time + d->m->launch_gap_time), name);
	draft_saving(d, left_ms / 2, left_ms / 4, left_ms);
	draft_suggest(d,
		      "See the report's table of what the GPU waited for: it has a line for each "
		      "cause");
	draft_suggest(d,
		      "Serve requests side by side (several streams or workers), so that one "
		      "computes while %s prepares another",
		      name);
	draft_suggest(d,
		      "Mark the parts of the step with inferscope.scope(), so that the %s can be "
		      "told apart",
		      draft_ms(d, left_ms));
	return true;
}

const struct rule rule_gpu_idle = {
	.id = "gpu-idle",
	.title = "The GPU is idle",
	.condition = "idle_share > 0.10",
	.look = look,
	.last = true,
};
