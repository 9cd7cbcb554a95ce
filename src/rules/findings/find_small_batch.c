#include <math.h>

#include "rules/draft.h"

/*
 * Several calls of a model in one step, each too small for the GPU, could be one.  With
 * one call a step only its author knows whether there is more to put into it.
 */
static bool look(struct draft *d)
{
	const struct step_use *u = d->use;
	double n = (double)u->steps, calls = d->m->model_calls_per_step;
	double unused_ms = u->few_blocks_idle_ns / 1e6 / n;
	double gaps_ms = d->m->launch_gap_time;
	/* One call instead of `calls` leaves 1 / calls of the launches and of what they run. */
	double fewer = calls > 1 ? 1 - 1 / calls : 0;
	double ms = calls > 1.5 ? fewer * (gaps_ms + unused_ms) : unused_ms / 2;
	const char *name = draft_name(d, &u->model_top.where);

	if (draft_share(d, ms) <= 0.05)
		return false;
	draft_where(d, &u->model_top.where);
	draft_evidence(d, FROM_ACTIVITIES, draft_strength(d->m->few_blocks_share, 0.5),
		       "%.0f %% of the kernels' time is in kernels with fewer blocks than the GPU "
		       "has multiprocessors (%u)",
		       100 * d->m->few_blocks_share, u->multiprocessors);
	if (calls > 1.5)
		draft_evidence(d, FROM_LAYERS, draft_strength(calls, 1.5),
			       "%.3g calls of the model a step, one after the other, from %s",
			       calls, name);
	draft_saving(d, ms, ms / 2, fmin(d->m->total_time, 2 * ms));
	draft_suggest(d, "Put several inputs into one batch in %s%s", name,
		      calls > 1.5 ? ": the model is called several times a step" : "");
	draft_suggest(d,
		      "Collect requests for a few milliseconds and serve them together (dynamic "
		      "batching) before %s",
		      name);
	draft_suggest(d,
		      "If inputs must stay alone, run several of them in streams of their own: "
		      "kernels of %.3g us with few blocks can share the GPU",
		      d->m->kernel_mean_us);
	return true;
}

const struct rule rule_small_batch = {
	.id = "small-batch",
	.title = "Each call gives the GPU too little to do",
	.condition = "few_blocks_share > 0.5 AND gpu_compute_time / total_time > 0.05",
	.look = look,
	.of_device = true,
};
