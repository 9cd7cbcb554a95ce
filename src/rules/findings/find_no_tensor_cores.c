#include <math.h>

#include "rules/draft.h"

/* Matrix kernels take three tenths of the kernels' time before their speed is the point. */
static bool look(struct draft *d)
{
	const struct step_use *u = d->use;
	double n = (double)u->steps, plain_ms = (double)u->matrix_plain_ns / 1e6 / n;
	/* Kernels may overlap: no more than what the step shows of the GPU. */
	double ms = fmin(plain_ms, d->m->gpu_compute_time);
	const char *name = draft_name(d, &u->plain_top.where);
	double most;

	/* Volta was the first to have them. */
	if (u->capability && u->capability < 70)
		return false;
	draft_where(d, &u->plain_top.where);
	draft_evidence(
		d, FROM_ACTIVITIES, draft_strength(d->m->plain_matrix_share, 0.30),
		"%.0f %% of the kernels' time is in matrix kernels whose names say that they "
		"use no tensor cores, %s a step; %.0f %% is in ones that do",
		100 * d->m->plain_matrix_share, draft_ms(d, plain_ms),
		100 * d->m->tensor_matrix_share);
	if (u->capability)
		draft_evidence(d, FROM_DEVICE, 0.6, "the GPU has them (compute capability %u.%u)",
			       u->capability / 10, u->capability % 10);
	draft_evidence(d, FROM_CUDA_CALLS, u->plain_top.where.name ? 0.5 : 0,
		       "most are launched by %s", name);
	draft_claim(d, TIME_GPU_COMPUTE, ms);
	/*
	 * float32 on the general units against TF32 or bfloat16: at least twice as fast, on paper
	 * 8 times on Volta and Turing and 16 times from Ampere on.  In half the bytes other
	 * kernels take half as long.
	 */
	most = u->capability && u->capability < 80 ? 8 : 16;
	draft_saving(d, 0.7 * ms, 0.4 * ms,
		     (1 - 1 / most) * ms + (d->m->gpu_compute_time - ms) / 2);
	draft_suggest(d,
		      "Allow TF32: torch.set_float32_matmul_precision(\"high\"), for the "
		      "matrices of %s",
		      name);
	draft_suggest(d,
		      "Run the model in bfloat16 (model.to(torch.bfloat16), or torch.autocast "
		      "around %s)",
		      name);
	draft_suggest(d,
		      "Make the sizes of matrices in %s multiples of 8 (16 bytes): others fall "
		      "back to general kernels",
		      name);
	return true;
}

const struct rule rule_no_tensor_cores = {
	.id = "no-tensor-cores",
	.title = "Matrices are multiplied without tensor cores",
	.condition = "plain_matrix_share > 0.30 AND gpu_compute_time / total_time > 0.10 "
		     "AND plain_matrix_share * gpu_compute_time / total_time > 0.05",
	.look = look,
	.of_device = true,
};
