#include <math.h>

#include "rules/draft.h"

/*
 * Moving tensors inside the device computes nothing.  Models do some of it; from three tenths of
 * the GPU's time on it is what there is to save, as matrices without tensor cores are.
 */
#define MOVES_MUCH 0.30

static double moved_ms(const struct draft *d)
{
	double ms = (double)d->use->moved_ns / 1e6 / (double)d->use->steps;

	/* What overlaps counts twice there. */
	return fmin(ms, d->m->gpu_compute_time);
}

static bool moves_much(const struct draft *d)
{
	return d->use->moved_top.where.name && moved_ms(d) > MOVES_MUCH * d->m->gpu_compute_time;
}

static void tell_moves(struct draft *d, const char *name)
{
	double ms = moved_ms(d);

	draft_evidence(
		d, FROM_ACTIVITIES, 0,
		"%s of it (%.0f %% of the step) only move tensors inside the GPU (torch.cat, "
		"copies), most of them from %s",
		draft_ms(d, ms), 100 * draft_share(d, ms), name);
	draft_claim(d, TIME_GPU_COMPUTE, ms);
	draft_saving(d, 0.8 * ms, ms / 2, ms);
	draft_suggest(d,
		      "Write into a tensor that has room for all of it (new_empty() once, then "
		      "slices of it) instead of making a larger one in %s each time",
		      name);
	draft_suggest(
		d,
		"Leave the data of %s where it is: views (expand, transpose, split) instead of "
		"copies (repeat, contiguous, cat)",
		name);
	draft_suggest(
		d,
		"Compile what calls %s (torch.compile): it moves data as a part of the kernels "
		"that use it",
		name);
}

static void tell_work(struct draft *d, const char *name)
{
	draft_saving(d, 0, 0, d->m->gpu_compute_time / 2);
	draft_suggest(d, "Use lower precision (bfloat16, float16, fp8) for what %s launches", name);
	draft_suggest(d,
		      "Compile the model that %s calls (torch.compile): fused kernels move less "
		      "memory",
		      name);
	draft_suggest(d,
		      "Make the model smaller (quantisation, distillation, shorter sequences), or "
		      "spread the load over more GPUs: this one is busy %.0f %% of the step",
		      100 * d->m->gpu_busy_share);
}

/*
 * Not a fault, mostly: it says that only the GPU's own work is left.  Four fifths of the step leave
 * no other cause that could bring more than a fifth.
 */
static bool look(struct draft *d)
{
	const struct step_use *u = d->use;
	double share = draft_share(d, d->m->gpu_compute_time);
	const struct use_top *top = moves_much(d) ? &u->moved_top : &u->launch_top;
	const char *name = draft_name(d, &top->where);
	const struct gpu_section *s = d->a->gpu.section_count ? &d->a->gpu.sections[0] : NULL;

	draft_where(d, &top->where);
	draft_evidence(d, FROM_ACTIVITIES, draft_strength(share, 0.4),
		       "the GPU computes for %s of a step (%.0f %%)",
		       draft_ms(d, d->m->gpu_compute_time), 100 * share);
	/* Launched long before: the host is ahead of the GPU, or waits for it. */
	draft_evidence(d, FROM_CUDA_CALLS, 0.6,
		       "the host is not late: %s of a step are gaps before launches, and %s it "
		       "waits for the GPU",
		       draft_ms(d, d->m->launch_gap_time + d->m->late_gap_time),
		       draft_ms(d, d->m->sync_call_time));
	if (s && s->kernel_group_count)
		draft_evidence(d, FROM_ACTIVITIES, 0,
			       "of the kernels %s take most time (%.0f %% of all)",
			       s->kernel_groups[0].name,
			       100 * (double)s->kernel_groups[0].total_ns /
				       fmax(1, (double)s->kernel_sum.total_ns));
	if (moves_much(d))
		tell_moves(d, name);
	else
		tell_work(d, name);
	return true;
}

const struct rule rule_gpu_bound = {
	.id = "gpu-bound",
	.title = "The GPU's own work is what takes the time",
	.condition = "gpu_compute_time / total_time > 0.80",
	.look = look,
	.of_device = true,
};
