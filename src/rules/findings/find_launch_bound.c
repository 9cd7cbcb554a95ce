#include <inttypes.h>
#include <math.h>

#include "rules/finding_builder.h"

/* The host is in the framework or in the launches then: of each as much as it has. */
static void claim_launching(struct finding_builder *d, double ms)
{
	double framework_ms = finding_part(d, TIME_FRAMEWORK),
	       launch_ms = finding_part(d, TIME_LAUNCH);
	double share = fmin(1, ms / fmax(framework_ms + launch_ms, 1e-9));

	finding_claim(d, TIME_FRAMEWORK, share * framework_ms);
	finding_claim(d, TIME_LAUNCH, share * launch_ms);
}

/*
 * A graph is captured of what does not wait for the GPU.  Of a model that does in each step the
 * launches have to become fewer where they are made.
 */
static bool waits_inside(const struct step_gpu_usage *u)
{
	return u->model_waits.where.name && u->model_waits.sum.count >= u->steps &&
	       u->late_inside.where.name;
}

static void suggest_graph(struct finding_builder *d, const char *name)
{
	const struct gpu_top_line *waits = &d->use->model_waits;
	const char *waiting = finding_place_name(d, &waits->where);

	if (waits_inside(d->use)) {
		finding_suggest(d,
				"Make fewer launches in %s: one operator on all data instead of "
				"one for each part (sort and split, torch.where, a mask)",
				name);
		finding_suggest(d,
				"Remove the waits for the GPU from %s (nonzero, item, boolean "
				"indices, sizes that depend on data): then the model can be "
				"captured into a CUDA graph",
				waiting);
		return;
	}
	finding_suggest(d,
			"Capture what %s calls into a CUDA graph (torch.cuda.CUDAGraph, or "
			"torch.compile(mode=\"reduce-overhead\")): one launch instead of %.0f",
			name, d->m->launches_per_step);
}

/* FR-4 calls a GPU idle that has nothing to do for a tenth of the time. */
static bool evaluate(struct finding_builder *d)
{
	const struct gpu_usage_gaps *gaps = &d->use->short_late;
	const struct gpu_top_line *waits = &d->use->model_waits;
	const struct place *where =
		waits_inside(d->use) ? &d->use->late_inside.where : &gaps->top.where;
	double ms = d->m->launch_gap_time, launches = d->m->launches_per_step;
	double least_ms = ms, replayed_ms;
	double most_ms = fmax(ms + fmax(d->m->latency_gap_time, 0),
			      finding_part(d, TIME_FRAMEWORK) + finding_part(d, TIME_LAUNCH));
	const char *name = finding_place_name(d, where);

	finding_where(d, where);
	finding_evidence(d, FROM_ACTIVITIES, finding_strength(finding_share(d, ms), 0.10),
			 "between kernels (%s on average) the GPU waits %s times per step for the "
			 "next launch, %s in total (%s)",
			 finding_ms(d, d->m->kernel_mean_us / 1e3),
			 finding_number(d, (double)gaps->count / (double)d->use->steps),
			 finding_ms(d, ms), finding_percent(d, ms));
	/* In the gaps the launch had not been made: it is the host that is late. */
	finding_evidence(d, FROM_CUDA_CALLS,
			 finding_strength((double)gaps->count, (double)d->use->latency.count + 1),
			 "%.0f launches per step; in %" PRIu64 " of %" PRIu64 " such gaps the next "
			 "launch had not been issued when the GPU finished",
			 launches, gaps->count, gaps->count + d->use->latency.count);
	if (waits_inside(d->use))
		finding_evidence(
			d, FROM_CUDA_CALLS, 0,
			"inside the model, %s waits for the GPU %s times per step: this prevents "
			"capture into a CUDA graph",
			finding_place_name(d, &waits->where),
			finding_number(d, (double)waits->sum.count / (double)d->use->steps));
	claim_launching(d, ms);
	if (finding_replayed(d, &(struct replay_edit){ .kind = REPLAY_GRAPH }, &replayed_ms))
		least_ms = fmin(replayed_ms, most_ms);
	/*
	 * The gaps alone, or what a replay says of a graph; or the latency of each launch and all
	 * that the framework does for them as well.
	 */
	finding_saving(d, least_ms, most_ms);
	suggest_graph(d, name);
	finding_suggest(d,
			"Fuse small kernels: torch.compile on what %s calls, or fused "
			"attention and normalisation",
			name);
	finding_suggest(d,
			"Give each launch more work: larger batches in %s make the kernels of %s "
			"longer with the same number of launches",
			name, finding_ms(d, d->m->kernel_mean_us / 1e3));
	return true;
}

const struct rule rule_launch_bound = {
	.id = "launch-bound",
	.title = "The GPU waits for launches",
	.condition = "launch_gap_time / total_time > 0.10",
	.evaluate = evaluate,
};
