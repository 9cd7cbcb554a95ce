#include <string.h>

#include "analyze/gpu/step_gpu_usage.h"
#include "rules/findings/host_code.h"

/*
 * What kernels do, by words in their names: the first that occurs counts.  Of matrix kernels
 * kernel_math() knows more.
 */
static const struct {
	const char *word;
	enum kernel_kind kind;
} words[] = {
	{ "Sort", KERNELS_SORT },           { "sort_", KERNELS_SORT },
	{ "adix", KERNELS_SORT },           { "flash", KERNELS_ATTENTION },
	{ "fmha", KERNELS_ATTENTION },      { "ttention", KERNELS_ATTENTION },
	{ "fprop", KERNELS_CONVOLUTION },   { "convolve", KERNELS_CONVOLUTION },
	{ "conv2d", KERNELS_CONVOLUTION },  { "winograd", KERNELS_CONVOLUTION },
	{ "gemm", KERNELS_MATRIX },         { "gemv", KERNELS_MATRIX },
	{ "nvjet", KERNELS_MATRIX },        { "fft", KERNELS_FFT },
	{ "distribution", KERNELS_RANDOM }, { "philox", KERNELS_RANDOM },
	{ "index", KERNELS_INDEX },         { "gather", KERNELS_INDEX },
	{ "scatter", KERNELS_INDEX },       { "searchsorted", KERNELS_INDEX },
	{ "mbedding", KERNELS_INDEX },      { "elementwise", KERNELS_ELEMENTS },
	{ "reduce", KERNELS_ELEMENTS },     { "norm", KERNELS_ELEMENTS },
	{ "softmax", KERNELS_ELEMENTS },    { "SoftMax", KERNELS_ELEMENTS },
	{ "triton_", KERNELS_ELEMENTS },    { "pool", KERNELS_ELEMENTS },
};

enum kernel_kind kernel_kind(const char *full_name)
{
	if (kernel_math(full_name) == MATH_NONE)
		return KERNELS_MOVE;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(full_name, words[i].word))
			return words[i].kind;
	return KERNELS_OTHER;
}

enum kernel_kind kernel_kind_of_most(const struct gpu_section *s, double *share)
{
	int64_t ns[KERNEL_KINDS] = { 0 }, all_ns = 0;
	enum kernel_kind most = KERNELS_OTHER;

	for (size_t i = 0; i < s->kernel_count; i++) {
		ns[kernel_kind(s->kernels[i].full_name)] += s->kernels[i].total_ns;
		all_ns += s->kernels[i].total_ns;
	}
	for (enum kernel_kind k = 0; k < KERNEL_KINDS; k++)
		if (ns[k] > ns[most])
			most = k;
	*share = all_ns > 0 ? (double)ns[most] / (double)all_ns : 0;
	return most;
}
