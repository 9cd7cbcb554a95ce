#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "rules/findings/host_code.h"

/*
 * Without a GPU: what each call takes beside its kernels, by samples of native code, is paid once
 * if there is one call.  Whether a call needs the result of the one before it cannot be seen, so
 * this is never sure.
 */
static bool evaluate_without_gpu(struct finding_builder *d)
{
	double calls = fmax(fmax(d->m->model_calls_per_step, d->m->steps_per_outer), 0);
	const struct place *where = &d->use->model_top.where;
	struct operator_cost o;
	const char *name;
	double ms;

	operator_cost_of_models(&o, d);
	ms = o.dispatch_ms * (1 - 1 / fmax(calls, 1));
	if (calls <= 1.5 || !where->name || finding_share(d, ms) <= 0.10)
		return false;
	finding_where(d, where);
	name = finding_place_name(d, where);
	finding_evidence(d, FROM_LAYERS, 0,
			 "the model is called %s times in a row in %s; whether a call needs the "
			 "result of another is unknown",
			 finding_number(d, calls), name);
	finding_evidence(
		d, FROM_NATIVE, finding_strength(finding_share(d, ms), 0.10),
		"%.0f %% of the native samples in the model are outside kernels: %s %s (%s) is a "
		"fixed cost per call, regardless of how little a call computes",
		100 * o.dispatch_ms / o.ms, finding_ms(d, o.dispatch_ms), finding_of_step(d),
		finding_percent(d, o.dispatch_ms));
	finding_claim(d, TIME_CPU_COMPUTE, ms);
	/* At best one call takes no longer than each of them did: weights are read once. */
	finding_saving(d, ms, o.ms * (1 - 1 / calls));
	finding_suggest(d,
			"Combine the inputs of %s into one batch: one call of the model instead of "
			"%s",
			name, finding_number(d, calls));
	finding_suggest(d,
			"If each call needs the result of the previous one, serve several requests "
			"together: their inputs of the same round form one batch in %s",
			name);
	finding_suggest(d,
			"Make calls cheaper: use torch.compile on the model that %s calls, which "
			"avoids most of the %s",
			name, finding_ms(d, o.dispatch_ms));
	return true;
}

/* A call from Python takes that long whatever it computes, with its arguments and their checks. */
#define FIXED_COST_MS 0.1

/*
 * Calls of a library's function that runs models, one after the other, each over before it can have
 * computed much: the same cost is paid for each row that would be paid once for many.
 */
static bool evaluate_short_calls(struct finding_builder *d)
{
	static const char by[] = "library calls";
	const struct time_cause *c = finding_cause(d, TIME_CPU_COMPUTE);
	const struct analysis_candidate *leads = d->a->candidate_count ? d->a->candidates : NULL;
	double each_ms = d->m->total_time, ms = finding_part(d, TIME_CPU_COMPUTE) / 2;
	const char *name;

	if (!c || !leads || strcmp(leads->found_by, by) != 0 || each_ms >= FIXED_COST_MS ||
	    d->step->service.busy_share < 0.5)
		return false;
	finding_where(d, &c->where);
	name = finding_place_name(d, &c->where);
	finding_evidence(d, FROM_SCOPES, finding_strength(FIXED_COST_MS, each_ms),
			 "%s is called %" PRIu64
			 " times in a row in %s, and a call takes %s: most of "
			 "that is the fixed cost of a call, regardless of how little it computes",
			 d->step->name, d->step->count, name, finding_ms(d, each_ms));
	finding_claim(d, TIME_CPU_COMPUTE, ms);
	finding_saving(d, ms / 2, 0.9 * d->m->total_time);
	finding_suggest(d, "Pass many rows in one call of %s in %s instead of one after the other",
			d->step->name, name);
	finding_suggest(d,
			"If rows arrive one at a time, collect them for a few milliseconds before "
			"%s (dynamic batching)",
			name);
	finding_suggest(d,
			"Use a compiled form of the model in %s, or the library's interface for "
			"single rows, if it has one",
			name);
	return true;
}

/* Where threads and tasks of Python's take what others gave them. */
static const char *const queues[] = { "/queue.py", "/asyncio/queues.py",
				      "/multiprocessing/queues.py" };

static bool takes_from_queue(const struct time_cause *c)
{
	if (!c->inner.name || !c->inner.file || !strstr(c->inner.name, "get"))
		return false;
	for (size_t i = 0; i < sizeof(queues) / sizeof(*queues); i++)
		if (strstr(c->inner.file, queues[i]))
			return true;
	return false;
}

/*
 * Requests wait: the steps take them from a queue, rarely wait for it, and follow each other
 * without a break.
 */
static bool queue_is_never_empty(const struct finding_builder *d)
{
	double waits_ms = wait_ms(d, TIME_LOCK_WAIT, true) + wait_ms(d, TIME_IO_WAIT, true) +
			  fmax(d->m->idle_time, 0);
	bool takes = false;

	for (size_t i = 0; i < d->parts->cause_count; i++)
		takes |= takes_from_queue(&d->parts->causes[i]);
	return takes && finding_share(d, waits_ms) < 0.05 && d->step->service.busy_share > 0.95;
}

/*
 * Several calls of a model in one step, or in one of the loop around the steps, of which
 * none waits for the one before it, could be one.  With one call only its author knows
 * whether there is more to put into it.  Where the GPU's own work is not most of the step,
 * something else is in the way first.
 */
static bool evaluate(struct finding_builder *d)
{
	const struct step_gpu_usage *u = d->use;
	/* A model that was captured is called by a launch of its graph. */
	double inside = fmax(fmax(d->m->model_calls_per_step, d->m->graph_launches_per_step), 0);
	double calls = fmax(fmax(inside, d->m->steps_per_outer), 1);
	bool in_turn = calls > 1.5 && d->m->sync_count_per_step < 0.5 * inside;
	bool queued = !in_turn && queue_is_never_empty(d);
	double few_ms = (double)u->few_blocks.ns / 1e6 / (double)u->steps;
	/* So much of the multiprocessors such kernels use: that often they can be repeated in it.
	 */
	double fill = 1 - u->few_blocks_idle_ns / fmax(1, (double)u->few_blocks.ns);
	double host_ms = finding_part(d, TIME_FRAMEWORK) + finding_part(d, TIME_LAUNCH);
	double gaps_ms =
		fmax(d->m->latency_gap_time, 0); /* each call has those between its kernels */
	double ms = in_turn ? few_ms * (1 - fmax(fill, 1 / calls)) + host_ms * (1 - 1 / calls)
			    : few_ms * (1 - fill) / 2;
	const char *name = finding_place_name(d, &u->model_top.where);

	if (!u->gpu)
		return evaluate_without_gpu(d) || evaluate_short_calls(d);
	if (finding_share(d, ms) <= 0.05)
		return false;
	finding_where(d, &u->model_top.where);
	finding_evidence(d, FROM_ACTIVITIES, finding_strength(d->m->few_blocks_share, 0.5),
			 "%.0f %% of kernel time is in kernels with fewer blocks than the GPU has "
			 "multiprocessors (%u)",
			 100 * d->m->few_blocks_share, u->multiprocessors);
	if (in_turn)
		finding_evidence(
			d, FROM_LAYERS, finding_strength(calls, 1.5),
			"the model is called %s times in a row in %s, and no call waits for the "
			"previous one",
			finding_number(d, calls), name);
	if (queued)
		finding_evidence(
			d, FROM_TIMES, 0.6,
			"each step takes its request from a queue and finds one there: requests "
			"wait while the GPU serves them one by one");
	finding_claim(d, TIME_GPU_COMPUTE, in_turn ? few_ms : few_ms * (1 - fill));
	if (in_turn)
		finding_claim_hosts(d, host_ms * (1 - 1 / calls));
	/* At best the GPU takes no longer for all of them than for one: it reads the weights once.
	 */
	if (in_turn)
		finding_saving(d, ms,
			       fmin(few_ms + host_ms + gaps_ms, d->m->total_time) *
				       (1 - 1 / calls));
	else if (queued) /* by two at least; at best as many as the GPU has room for */
		finding_saving(d, few_ms * (1 - fmax(fill, 0.5)) + host_ms / 2,
			       (few_ms + host_ms + gaps_ms) * (1 - fill));
	else
		finding_saving(d, 0, few_ms * (1 - fill));
	finding_suggest(d,
			"Combine several inputs into one batch in %s: the model is called %s "
			"times",
			name, finding_number(d, calls));
	finding_suggest(d,
			"Collect requests for a few milliseconds and serve them together (dynamic "
			"batching) before %s",
			name);
	finding_suggest(d,
			"If inputs cannot be batched, run several of them on separate streams: "
			"kernels of %s with few blocks can share the GPU",
			finding_ms(d, d->m->kernel_mean_us / 1e3));
	return true;
}

const struct rule rule_small_batch = {
	.id = "small-batch",
	.title = "Each call gives the GPU too little work",
	.title_without_gpu = "Each call gives the model too little work",
	.condition = "(few_blocks_share > 0.5 AND gpu_compute_time / total_time > 0.5) OR "
		     "cpu_compute_time / total_time > 0.5",
	.evaluate = evaluate,
	.of_device = true,
};
