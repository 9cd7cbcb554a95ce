#include <inttypes.h>
#include <math.h>

#include "rules/draft.h"

/* The host is in the framework or in the launches then: of each as much as it has. */
static void claim_launching(struct draft *d, double ms)
{
	double framework_ms = draft_part(d, TIME_FRAMEWORK), launch_ms = draft_part(d, TIME_LAUNCH);
	double share = fmin(1, ms / fmax(framework_ms + launch_ms, 1e-9));

	draft_claim(d, TIME_FRAMEWORK, share * framework_ms);
	draft_claim(d, TIME_LAUNCH, share * launch_ms);
}

/*
 * A graph is captured of what does not wait for the GPU.  Of a model that does in each step the
 * launches have to become fewer where they are made.
 */
static bool waits_inside(const struct step_use *u)
{
	return u->model_waits.where.name && u->model_waits.sum.count >= u->steps &&
	       u->late_inside.where.name;
}

static void suggest_graph(struct draft *d, const char *name)
{
	const struct use_top *waits = &d->use->model_waits;
	const char *waiting = draft_name(d, &waits->where);

	if (waits_inside(d->use)) {
		draft_suggest(d,
			      "Make fewer launches in %s: one operator on everything instead of "
			      "one for each part (sort and split, torch.where, a mask)",
			      name);
		draft_suggest(d,
			      "Take the waits for the GPU out of %s (nonzero, item, boolean "
			      "indices, sizes that depend on data): then the model can be "
			      "captured into a CUDA graph",
			      waiting);
		return;
	}
	draft_suggest(d,
		      "Capture what %s calls into a CUDA graph (torch.cuda.CUDAGraph, or "
		      "torch.compile(mode=\"reduce-overhead\")): one launch instead of %.0f",
		      name, d->m->launches_per_step);
}

/* FR-4 calls a GPU idle that has nothing to do for a tenth of the time. */
static bool look(struct draft *d)
{
	const struct use_gaps *gaps = &d->use->short_late;
	const struct use_top *waits = &d->use->model_waits;
	const struct analysis_place *where =
		waits_inside(d->use) ? &d->use->late_inside.where : &gaps->top.where;
	double ms = d->m->launch_gap_time, launches = d->m->launches_per_step;
	const char *name = draft_name(d, where);

	draft_where(d, where);
	draft_evidence(d, FROM_ACTIVITIES, draft_strength(draft_share(d, ms), 0.10),
		       "between kernels of %s on average the GPU waits %s times a step for "
		       "the next one, %s in all (%s)",
		       draft_ms(d, d->m->kernel_mean_us / 1e3),
		       draft_number(d, (double)gaps->count / (double)d->use->steps),
		       draft_ms(d, ms), draft_percent(d, ms));
	/* In the gaps the launch had not been made: it is the host that is late. */
	draft_evidence(d, FROM_CUDA_CALLS,
		       draft_strength((double)gaps->count, (double)d->use->latency.count + 1),
		       "%.0f launches a step; in %" PRIu64 " of %" PRIu64 " such gaps the next one "
		       "had not been made when the GPU was done",
		       launches, gaps->count, gaps->count + d->use->latency.count);
	if (waits_inside(d->use))
		draft_evidence(d, FROM_CUDA_CALLS, 0,
			       "inside of the model %s waits for the GPU %s times a step: as it "
			       "is, no CUDA graph can be captured of it",
			       draft_name(d, &waits->where),
			       draft_number(d, (double)waits->sum.count / (double)d->use->steps));
	claim_launching(d, ms);
	/*
	 * A graph does without the latency of each launch as well, and at best without all that
	 * the framework does for them.
	 */
	draft_saving(d, 0.8 * ms, 0.4 * ms,
		     fmax(ms + fmax(d->m->latency_gap_time, 0),
			  draft_part(d, TIME_FRAMEWORK) + draft_part(d, TIME_LAUNCH)));
	suggest_graph(d, name);
	draft_suggest(d,
		      "Fuse small kernels: torch.compile on what %s calls, or fused "
		      "attention and normalisation",
		      name);
	draft_suggest(d,
		      "Give each launch more to do: larger batches in %s make the kernels of "
		      "%s longer at the same number of launches",
		      name, draft_ms(d, d->m->kernel_mean_us / 1e3));
	return true;
}

const struct rule rule_launch_bound = {
	.id = "launch-bound",
	.title = "The GPU waits for launches",
	.condition = "launch_gap_time / total_time > 0.10",
	.look = look,
};
