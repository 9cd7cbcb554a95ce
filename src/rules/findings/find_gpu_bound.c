#include <math.h>

#include "rules/findings/host_code.h"

/*
 * Moving tensors inside the device computes nothing.  Models do some of it; from three tenths of
 * the GPU's time on it is what there is to save, as matrices without tensor cores are.
 */
#define MOVES_MUCH 0.30
/* Kernels with less of the kernels' time are not named. */
#define LOAD_LEAST 0.10

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

/* What helps kernels of a kind; %s: the user's line. */
static const struct {
	const char *what;
	const char *advice[2];
} kinds[KERNEL_KINDS] = {
	[KERNELS_OTHER] = { "kernels of no known kind",
			    { "Look at the kernels that %s launches with a kernel profiler (ncu): "
			      "their names do not say what limits them",
			      "Compile the model that %s calls (torch.compile): fused kernels move "
			      "less memory" } },
	[KERNELS_MATRIX] = { "matrix products",
			     { "Use lower precision (bfloat16, float16, fp8) for the matrices of "
			       "%s",
			       "Make the matrices of %s smaller: shorter sequences, pruning, "
			       "distillation" } },
	[KERNELS_CONVOLUTION] = { "convolutions",
				  { "Use float16 or bfloat16 and channels_last memory for the "
				    "convolutions of %s",
				    "Let cuDNN choose its kernels by trial for the sizes of %s "
				    "(torch.backends.cudnn.benchmark = True)" } },
	[KERNELS_ATTENTION] = { "attention",
				{ "Shorten what %s attends to: its time grows with the square of "
				  "the length (windows, fewer tokens, grouped keys and values)",
				  "Use the fused attention of "
				  "torch.nn.functional.scaled_dot_product_attention in %s, with "
				  "16-bit inputs" } },
	[KERNELS_ELEMENTS] = { "operations on single elements and sums",
			       { "Fuse them: torch.compile on what %s calls reads and writes "
				 "memory once instead of once per operation",
				 "Use 16-bit types for the tensors of %s: such kernels wait for "
				 "memory, and half the bytes take half the time" } },
	[KERNELS_MOVE] = { "kernels that only move data",
			   { "Avoid copying the data of %s: use views instead of copies",
			     "Write into a preallocated tensor in %s" } },
	[KERNELS_INDEX] = { "indexing, gathering and searching",
			    { "Order the indices of %s: neighbours in memory are read together",
			      "Use smaller element and index types in %s: such kernels wait for "
			      "memory" } },
	[KERNELS_SORT] = { "sorting", { NULL, NULL } }, /* explain_sorting() */
	[KERNELS_RANDOM] = { "random numbers",
			     { "Generate random numbers once and reuse them where %s allows it",
			       "Generate fewer or smaller random numbers in %s (float32 instead of "
			       "float64)" } },
	[KERNELS_FFT] = { "Fourier transforms",
			  { "Use sizes that are products of small primes in %s, and real "
			    "transforms (rfft) for real data",
			    "Use complex64 instead of complex128 in %s, and batch transforms of "
			    "one size" } },
};

static void explain_work(struct finding_builder *d, const char *name, enum kernel_kind kind,
			 double share)
{
	finding_evidence(d, FROM_ACTIVITIES, 0, "%.0f %% of kernel time is in %s", 100 * share,
			 kinds[kind].what);
	finding_saving(d, 0, 0);
	for (size_t i = 0; i < 2 && kinds[kind].advice[i]; i++)
		finding_suggest(d, kinds[kind].advice[i], name);
	finding_suggest(d,
			"Distribute the load over more GPUs: this one is busy for %.0f %% of the "
			"step",
			100 * d->m->gpu_busy_share);
}

/*
 * How far the kernels are from what the device could do, as far as their launches say it.  What
 * memory and arithmetic do is not counted; in their time they could do so much at most.
 */
static void explain_limits(struct finding_builder *d)
{
	const struct step_gpu_usage *u = d->use;
	double all_ns = fmax(1, (double)u->kernels.ns);

	for (size_t i = 0; i < u->load_count; i++) {
		const struct kernel_load *k = &u->loads[i];
		double s = (double)k->ns / 1e9 / (double)fmax(1, (double)k->count);

		if ((double)k->ns < LOAD_LEAST * all_ns)
			break;
		if (isnan(k->occupancy))
			finding_evidence(
				d, FROM_ACTIVITIES, 0, "%.0f %% of kernel time is in %s (%s each)",
				100 * (double)k->ns / all_ns, k->name, finding_ms(d, 1e3 * s));
		else
			finding_evidence(
				d, FROM_ACTIVITIES, 0,
				"%.0f %% of kernel time is in %s (%s each): %.0f %% occupancy, "
				"%s times the blocks that the GPU holds at a time; the GPU could "
				"move %s or compute %s GFLOP (half precision) in the time of one",
				100 * (double)k->ns / all_ns, k->name, finding_ms(d, 1e3 * s),
				100 * k->occupancy, finding_number(d, k->waves),
				finding_bytes(d, s * u->bytes_per_s),
				finding_number(d, s * u->tensor_per_s / 1e9));
	}
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
	enum kernel_kind kind = KERNELS_OTHER;
	double kind_share = 0;

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
	explain_limits(d);
	if (s)
		kind = kernel_kind_of_most(s, &kind_share);
	if (moves_much(d))
		explain_moves(d, name);
	else if (kind == KERNELS_SORT)
		explain_sorting(d, name, kind_share);
	else
		explain_work(d, name, kind, kind_share);
	return true;
}

const struct rule rule_gpu_bound = {
	.id = "gpu-bound",
	.title = "GPU compute takes most of the step",
	.condition = "gpu_compute_time / total_time > 0.80",
	.evaluate = evaluate,
	.of_device = true,
};
