#include <math.h>

#include "analyze/gpu/device_limits.h"
#include "rules/finding_builder.h"

/*
 * How many times as fast tensor cores are as the general units with float32: with TF32 where there
 * is such a thing, and with half precision.  Of a device that is not listed: at least twice, on
 * paper up to 16 times.
 */
struct ratios {
	double least, most;
};

static void ratios_find(struct ratios *r, uint32_t capability)
{
	const struct multiprocessor_limits *l = device_limits(capability);

	*r = (struct ratios){ 2, 16 };
	if (!l || !l->tensor_half)
		return;
	r->most = (double)l->tensor_half / l->float32;
	r->least = l->tensor_tf32 ? (double)l->tensor_tf32 / l->float32 : r->most;
}

/* Matrix kernels take three tenths of the kernels' time before their speed is the point. */
static bool evaluate(struct finding_builder *d)
{
	const struct step_gpu_usage *u = d->use;
	double n = (double)u->steps, plain_ms = (double)u->matrix_plain_ns / 1e6 / n;
	/* Kernels may overlap: no more than what the step shows of the GPU. */
	double ms = fmin(plain_ms, d->m->gpu_compute_time);
	const char *name = finding_place_name(d, &u->plain_top.where);
	struct ratios faster;

	/* Volta was the first to have them. */
	if (u->capability && u->capability < 70)
		return false;
	finding_where(d, &u->plain_top.where);
	finding_evidence(
		d, FROM_ACTIVITIES, finding_strength(d->m->plain_matrix_share, 0.30),
		"%.0f %% of kernel time is in matrix kernels that, by their names, use no tensor "
		"cores, %s per step; %.0f %% is in kernels that do",
		100 * d->m->plain_matrix_share, finding_ms(d, plain_ms),
		100 * d->m->tensor_matrix_share);
	if (u->capability)
		finding_evidence(d, FROM_DEVICE, 0.6,
				 "the GPU has tensor cores (compute "
				 "capability %u.%u)",
				 u->capability / 10, u->capability % 10);
	finding_evidence(d, FROM_CUDA_CALLS, u->plain_top.where.name ? 0.5 : 0,
			 "most are launched by %s", name);
	finding_claim(d, TIME_GPU_COMPUTE, ms);
	ratios_find(&faster, u->capability);
	/*
	 * From the matrices alone in TF32 to all of it in half the bytes, in which other kernels
	 * take half as long.
	 */
	finding_saving(d, (1 - 1 / faster.least) * ms,
		       (1 - 1 / faster.most) * ms + (d->m->gpu_compute_time - ms) / 2);
	finding_suggest(d,
			"Allow TF32: torch.set_float32_matmul_precision(\"high\"), for the "
			"matrices of %s",
			name);
	finding_suggest(d,
			"Run the model in bfloat16 (model.to(torch.bfloat16), or torch.autocast "
			"around %s)",
			name);
	finding_suggest(d,
			"Make the matrix sizes in %s multiples of 8 (16 bytes): other sizes fall "
			"back to general kernels",
			name);
	return true;
}

const struct rule rule_no_tensor_cores = {
	.id = "no-tensor-cores",
	.title = "Matrix multiplications do not use tensor cores",
	.condition = "plain_matrix_share > 0.30 AND gpu_compute_time / total_time > 0.10 "
		     "AND plain_matrix_share * gpu_compute_time / total_time > 0.05",
	.evaluate = evaluate,
	.of_device = true,
};
