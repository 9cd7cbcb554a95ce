/*
 * cuBLAS, cuDNN and CUTLASS write into the names of their kernels which
 * instruction does the work, PyTorch what for.  What a name does not say is not guessed at.
 */
#include "analyze/kernel_math.h"

#include <stddef.h>
#include <string.h>

struct mark {
	const char *text;
	enum kernel_math math;
};

/*
 * The first that occurs counts.  Instruction shapes (s1688, h16816, ...) are of the MMA
 * instructions; simt and ffma are CUTLASS' and xmma's words for the general units; nvjet
 * kernels exist for tensor cores alone.
 */
static const struct mark marks[] = {
	{ "_simt_", MATH_PLAIN },
	{ "_ffma_", MATH_PLAIN },
	{ "tensorop", MATH_TENSOR },
	{ "tensor16x8", MATH_TENSOR },
	{ "wgmma", MATH_TENSOR },
	{ "gmma", MATH_TENSOR },
	{ "hmma", MATH_TENSOR },
	{ "imma", MATH_TENSOR },
	{ "nvjet_", MATH_TENSOR },
	{ "s884", MATH_TENSOR },
	{ "h884", MATH_TENSOR },
	{ "s1688", MATH_TENSOR },
	{ "h1688", MATH_TENSOR },
	{ "s16816", MATH_TENSOR },
	{ "h16816", MATH_TENSOR },
	{ "i8816", MATH_TENSOR },
	{ "i16832", MATH_TENSOR },
	{ "tf32f32_tf32f32", MATH_TENSOR },
	{ "f32f32_tf32f32", MATH_TENSOR },
	{ "bf16_s", MATH_TENSOR },
	/* volta_sgemm_128x64_tn, ampere_sgemm_32x32_sliced1x4_nn, maxwell_scudnn_128x64 */
	{ "_sgemm_", MATH_PLAIN },
	{ "_dgemm_", MATH_PLAIN },
	{ "_scudnn_", MATH_PLAIN },
	{ "implicit_convolve_sgemm", MATH_PLAIN },
	{ "gemmSN_", MATH_PLAIN },
	{ "gemmk1_kernel", MATH_PLAIN },
	/* PyTorch's torch.cat(), copy_() and contiguous(); those of other libraries say so too. */
	{ "CatArrayBatchedCopy", MATH_NONE },
	{ "direct_copy_kernel", MATH_NONE },
	{ "transpose_readWrite", MATH_NONE },
	{ "batch_transpose", MATH_NONE },
};

enum kernel_math kernel_math(const char *full_name)
{
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		if (strstr(full_name, marks[i].text))
			return marks[i].math;
	return MATH_OTHER;
}
