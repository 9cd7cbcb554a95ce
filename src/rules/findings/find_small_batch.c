#include <math.h>

#include "rules/findings/operator_cost.h"

/*
 * Without a GPU: what each call takes beside its kernels, by samples of native code, is paid once
 * if there is one call.  Whether a call needs the result of the one before it cannot be seen, so
 * this is never sure.
 */
static bool look_without_gpu(struct draft *d)
{
	double calls = fmax(fmax(d->m->model_calls_per_step, d->m->steps_per_outer), 0);
	const struct analysis_place *where = &d->use->model_top.where;
	struct operator_cost o;
	const char *name;
	double ms;

	operator_cost_of_models(&o, d);
	ms = o.dispatch_ms * (1 - 1 / fmax(calls, 1));
	if (calls <= 1.5 || !where->name || draft_share(d, ms) <= 0.10)
		return false;
	draft_where(d, where);
	name = draft_name(d, where);
	draft_evidence(d, FROM_LAYERS, 0,
		       "%s calls of the model follow each other in %s; whether one needs the "
		       "result of another cannot be seen",
		       draft_number(d, calls), name);
	draft_evidence(d, FROM_NATIVE, draft_strength(draft_share(d, ms), 0.10),
		       "%.0f %% of the samples of native code in the model are not in kernels: %s "
		       "%s (%s) is what the calls cost, however little they compute",
		       100 * o.dispatch_ms / o.ms, draft_ms(d, o.dispatch_ms), draft_of_step(d),
		       draft_percent(d, o.dispatch_ms));
	draft_claim(d, TIME_CPU_COMPUTE, ms);
	/* At best one call takes no longer than each of them did: weights are read once. */
	draft_saving(d, ms, ms / 2, o.ms * (1 - 1 / calls));
	draft_suggest(d, "Put the inputs of %s into one batch: one call of the model instead of %s",
		      name, draft_number(d, calls));
	draft_suggest(d,
		      "If each call needs the result of the one before it, serve several requests "
		      "together: their inputs of the same round are one batch in %s",
		      name);
	draft_suggest(d,
		      "Make calls cheaper: torch.compile on the model that %s calls, which does "
		      "without most of the %s",
		      name, draft_ms(d, o.dispatch_ms));
	return true;
}

/*
 * Several calls of a model in one step, or in one of the loop around the steps, of which
 * none waits for the one before it, could be one.  With one call only its author knows
 * whether there is more to put into it.  Where the GPU's own work is not most of the step,
 * something else is in the way first.
 */
static bool look(struct draft *d)
{
	const struct step_use *u = d->use;
	/* A model that was captured is called by a launch of its graph. */
	double inside = fmax(fmax(d->m->model_calls_per_step, d->m->graph_launches_per_step), 0);
	double calls = fmax(fmax(inside, d->m->steps_per_outer), 1);
	bool in_turn = calls > 1.5 && d->m->sync_count_per_step < 0.5 * inside;
	double few_ms = (double)u->few_blocks.ns / 1e6 / (double)u->steps;
	/* So much of the multiprocessors such kernels use: that often they can be repeated in it.
	 */
	double fill = 1 - u->few_blocks_idle_ns / fmax(1, (double)u->few_blocks.ns);
	double host_ms = draft_part(d, TIME_FRAMEWORK) + draft_part(d, TIME_LAUNCH);
	double gaps_ms =
		fmax(d->m->latency_gap_time, 0); /* each call has those between its kernels */
	double ms = in_turn ? few_ms * (1 - fmax(fill, 1 / calls)) + host_ms * (1 - 1 / calls)
			    : few_ms * (1 - fill) / 2;
	const char *name = draft_name(d, &u->model_top.where);

	if (!u->gpu)
		return look_without_gpu(d);
	if (draft_share(d, ms) <= 0.05)
		return false;
	draft_where(d, &u->model_top.where);
	draft_evidence(d, FROM_ACTIVITIES, draft_strength(d->m->few_blocks_share, 0.5),
		       "%.0f %% of the kernels' time is in kernels with fewer blocks than the GPU "
		       "has multiprocessors (%u)",
		       100 * d->m->few_blocks_share, u->multiprocessors);
	if (in_turn)
		draft_evidence(d, FROM_LAYERS, draft_strength(calls, 1.5),
			       "%s calls of the model follow each other in %s, and none waits for "
			       "the one before it",
			       draft_number(d, calls), name);
	draft_claim(d, TIME_GPU_COMPUTE, in_turn ? few_ms : few_ms * (1 - fill));
	if (in_turn)
		draft_claim_hosts(d, host_ms * (1 - 1 / calls));
	/* At best the GPU takes no longer for all of them than for one: it reads the weights once.
	 */
	draft_saving(d, ms, ms / 2,
		     in_turn ? fmin(few_ms + host_ms + gaps_ms, d->m->total_time) * (1 - 1 / calls)
			     : few_ms * (1 - fill));
	draft_suggest(d, "Put several inputs into one batch in %s: the model is called %s times",
		      name, draft_number(d, calls));
	draft_suggest(d,
		      "Collect requests for a few milliseconds and serve them together (dynamic "
		      "batching) before %s",
		      name);
	draft_suggest(d,
		      "If inputs must stay alone, run several of them in streams of their own: "
		      "kernels of %s with few blocks can share the GPU",
		      draft_ms(d, d->m->kernel_mean_us / 1e3));
	return true;
}

const struct rule rule_small_batch = {
	.id = "small-batch",
	.title = "Each call gives the GPU too little to do",
	.title_without_gpu = "Each call gives the model too little to do",
	.condition = "(few_blocks_share > 0.5 AND gpu_compute_time / total_time > 0.5) OR "
		     "cpu_compute_time / total_time > 0.5",
	.look = look,
	.of_device = true,
};
