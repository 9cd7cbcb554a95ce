#include <math.h>
#include <string.h>

#include "rules/finding_builder.h"

/*
 * Moving tensors inside the device computes nothing.  Models do some of it; from three tenths of
 * the GPU's time on it is what there is to save, as matrices without tensor cores are.
 */
#define MOVES_MUCH 0.30
#define SORTS_MUCH 0.30

static double moved_ms(const struct finding_builder *d)
{
	double ms = (double)d->use->moved_ns / 1e6 / (double)d->use->steps;

	/* What overlaps counts twice there. */
	return fmin(ms, d->m->gpu_compute_time);
}

static bool moves_much(const struct finding_builder *d)
{
	return d->use->moved_top.where.name && moved_ms(d) > MOVES_MUCH * d->m->gpu_compute_time;
}

static void explain_moves(struct finding_builder *d, const char *name)
{
	double ms = moved_ms(d);

	finding_evidence(
		d, FROM_ACTIVITIES, 0,
		"%s of it (%.0f %% of the step) only moves tensors inside the GPU (torch.cat, "
		"copies), mostly from %s",
		finding_ms(d, ms), 100 * finding_share(d, ms), name);
	finding_claim(d, TIME_GPU_COMPUTE, ms);
	finding_saving(d, ms, ms);
	finding_suggest(d,
			"Write into a preallocated tensor (new_empty() once, then slices of it) "
			"instead of creating a larger one in %s each time",
			name);
	finding_suggest(
		d,
		"Avoid copying the data of %s: use views (expand, transpose, split) instead of "
		"copies (repeat, contiguous, cat)",
		name);
	finding_suggest(
		d,
		"Compile what calls %s (torch.compile): it moves data inside the kernels that use "
		"it",
		name);
}

/* How the names of kernels that sort contain it: CUB's, Thrust's, PyTorch's, CuPy's. */
static const char *const sorts[] = { "Sort", "sort", "Radix", "radix" };

static double sorting_share(const struct gpu_section *s)
{
	int64_t ns = 0;

	for (size_t i = 0; i < s->kernel_group_count; i++)
		for (size_t k = 0; k < sizeof(sorts) / sizeof(*sorts); k++)
			if (strstr(s->kernel_groups[i].name, sorts[k])) {
				ns += s->kernel_groups[i].total_ns;
				break;
			}
	return (double)ns / fmax(1, (double)s->kernel_sum.total_ns);
}

/* Lower precision helps what computes; a sort reads and writes its keys again and again. */
static void explain_sorting(struct finding_builder *d, const char *name, double share)
{
	finding_evidence(d, FROM_ACTIVITIES, 0, "%.0f %% of kernel time is in kernels that sort",
			 100 * share);
	finding_saving(d, 0, 0);
	finding_suggest(d,
			"Select instead of sorting where %s needs only the largest or smallest "
			"elements (torch.topk(), cupy.argpartition())",
			name);
	finding_suggest(
		d,
		"Sort less: keep data sorted between steps, sort keys without their values, "
		"or merge new elements into what %s has sorted already",
		name);
	finding_suggest(d,
			"Use shorter integer keys in %s: a radix sort takes as many passes as its "
			"keys have digits",
			name);
}

static void explain_work(struct finding_builder *d, const char *name)
{
	finding_saving(d, 0, 0);
	finding_suggest(d, "Use lower precision (bfloat16, float16, fp8) for what %s launches",
			name);
	finding_suggest(d,
			"Compile the model that %s calls (torch.compile): fused kernels move less "
			"memory",
			name);
	finding_suggest(
		d,
		"Make the model smaller (quantisation, distillation, shorter sequences), or "
		"distribute the load over more GPUs: this one is busy for %.0f %% of the step",
		100 * d->m->gpu_busy_share);
}

/*
 * Not a fault, mostly: it says that only the GPU's own work is left.  Four fifths of the step leave
 * no other cause that could bring more than a fifth.
 */
static bool evaluate(struct finding_builder *d)
{
	const struct step_gpu_usage *u = d->use;
	double share = finding_share(d, d->m->gpu_compute_time);
	const struct gpu_top_line *top = moves_much(d) ? &u->moved_top : &u->launch_top;
	const char *name = finding_place_name(d, &top->where);
	const struct gpu_section *s = d->a->gpu.section_count ? &d->a->gpu.sections[0] : NULL;

	finding_where(d, &top->where);
	finding_evidence(d, FROM_ACTIVITIES, finding_strength(share, 0.4),
			 "the GPU computes for %s per step (%.0f %%)",
			 finding_ms(d, d->m->gpu_compute_time), 100 * share);
	/* Launched long before: the host is ahead of the GPU, or waits for it. */
	finding_evidence(d, FROM_CUDA_CALLS, 0.6,
			 "the host is not late: gaps before launches take %s per step, and the "
			 "host waits %s for the GPU",
			 finding_ms(d, d->m->launch_gap_time + d->m->late_gap_time),
			 finding_ms(d, d->m->sync_call_time));
	if (s && s->kernel_group_count)
		finding_evidence(d, FROM_ACTIVITIES, 0,
				 "most kernel time is in %s (%.0f %% of all kernels)",
				 s->kernel_groups[0].name,
				 100 * (double)s->kernel_groups[0].total_ns /
					 fmax(1, (double)s->kernel_sum.total_ns));
	if (moves_much(d))
		explain_moves(d, name);
	else if (s && sorting_share(s) > SORTS_MUCH)
		explain_sorting(d, name, sorting_share(s));
	else
		explain_work(d, name);
	return true;
}

const struct rule rule_gpu_bound = {
	.id = "gpu-bound",
	.title = "GPU compute takes most of the step",
	.condition = "gpu_compute_time / total_time > 0.80",
	.evaluate = evaluate,
	.of_device = true,
};
