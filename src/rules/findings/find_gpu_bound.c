#include <math.h>

#include "rules/draft.h"

/*
 * Not a fault: it says that only the GPU's own work is left.  Four fifths of the step leave
 * no other cause that could bring more than a fifth.
 */
static bool look(struct draft *d)
{
	const struct step_use *u = d->use;
	double share = draft_share(d, d->m->gpu_compute_time);
	const char *name = draft_name(d, &u->launch_top.where);
	const struct gpu_section *s = d->a->gpu.section_count ? &d->a->gpu.sections[0] : NULL;

	draft_where(d, &u->launch_top.where);
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
	return true;
}

const struct rule rule_gpu_bound = {
	.id = "gpu-bound",
	.title = "The GPU's own work is what takes the time",
	.condition = "gpu_compute_time / total_time > 0.80",
	.look = look,
	.of_device = true,
};
