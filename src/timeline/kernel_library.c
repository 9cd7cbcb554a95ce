/*
 * Kernels of the matrix libraries: their names are codes or templates of a
 * thousand bytes, but always tell the family, the operation, the tile and the
 * type of the data.  That is what a reader wants of them.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "timeline/kernel_names.h"

struct word {
	const char *mark; /* in the name */
	const char *say;
};

/* The first entry that occurs counts, wherever it stands. */
static const struct word operations[] = {
	{ "fprop", "conv" },
	{ "dgrad", "conv dgrad" },
	{ "wgrad", "conv wgrad" },
	{ "Fprop", "conv" },
	{ "implicit_convolve", "conv" },
	{ "conv2d", "conv" },
	{ "splitKreduce", "splitk reduce" },
	{ "gemv", "gemv" },
	{ "nvjet", "gemm" },
	{ "gemm", "gemm" },
	{ "Gemm", "gemm" },
	{ "fmha", "attention" },
	{ "attention", "attention" },
};

static const struct word types[] = {
	{ "bf16", "bf16" }, { "bfloat16", "bf16" }, { "e4m3", "fp8" },    { "e5m2", "fp8" },
	{ "tf32", "tf32" }, { "tfloat32", "tf32" }, { "fp16", "f16" },    { "f16", "f16" },
	{ "half", "f16" },  { "h16816", "f16" },    { "h1688", "f16" },   { "h884", "f16" },
	{ "hgemm", "f16" }, { "i8816", "int8" },    { "i16832", "int8" }, { "s8s8", "int8" },
	{ "_s8_", "int8" }, { "int8", "int8" },     { "dgemm", "f64" },   { "f64", "f64" },
	{ "sgemm", "f32" }, { "f32", "f32" },       { "float", "f32" },
};

/* Behind nvjet_: the type of A is one letter. */
static const struct {
	char letter;
	const char *say;
} nvjet_types[] = {
	{ 't', "bf16" }, { 'h', "f16" }, { 's', "f32" }, { 'q', "fp8" }, { 'd', "f64" },
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const char *find_word(const char *name, const struct word *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strstr(name, words[i].mark))
			return words[i].say;
	return NULL;
}

/* A number at p; returns the position behind it, NULL where there is none that could be a size. */
static const char *number(const char *p, unsigned *value)
{
	unsigned n = 0;

	if (!isdigit((unsigned char)*p))
		return NULL;
	for (*value = 0; isdigit((unsigned char)*p); p++, n++)
		*value = *value * 10 + (unsigned)(*p - '0');
	return n <= 4 ? p : NULL;
}

/* "128x64" or "128x64x32" in a name, not "1x2x1" of a cluster nor "_64x3" of stages. */
static bool tile_in_name(const char *name, char *out, size_t room)
{
	for (const char *p = name; *p; p++) {
		unsigned m, n, k;
		const char *end;

		if (!isdigit((unsigned char)*p) || (p > name && isdigit((unsigned char)p[-1])))
			continue;
		end = number(p, &m);
		if (!end || *end != 'x')
			continue;
		end = number(end + 1, &n);
		if (!end || m < 8 || n < 8)
			continue;
		if (*end == 'x' && number(end + 1, &k))
			snprintf(out, room, " %ux%ux%u", m, n, k);
		else
			snprintf(out, room, " %ux%u", m, n);
		return true;
	}
	return false;
}

/*
 * cute::tuple<cute::C<128>, cute::C<64>, cute::C<32> >, the first that is large enough for a
 * tile.
 */
static bool tile_in_template(const char *name, char *out, size_t room)
{
	static const char c[] = "cute::C<";
	const char *p = name;

	while ((p = strstr(p, "cute::tuple<cute::C<")) != NULL) {
		unsigned size[3];
		size_t n = 0;

		p += strlen("cute::tuple<");
		while (n < 3 && !strncmp(p, c, strlen(c))) {
			const char *end = number(p + strlen(c), &size[n]);

			if (!end || *end != '>')
				break;
			p = end + 1;
			p += strspn(p, ", ");
			n++;
		}
		if (n == 3 && size[0] >= 8 && size[1] >= 8) {
			snprintf(out, room, " %ux%ux%u", size[0], size[1], size[2]);
			return true;
		}
	}
	return false;
}

/*
 * flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<64, ...: the words of its name, the head
 * size.
 */
static bool flash_brief(const char *full, char *brief, const char *type)
{
	const char *traits = strstr(full, "kernel_traits<");
	const char *p = strstr(full, "flash_fwd");
	char name[32];
	unsigned head;
	size_t n = 0;

	if (!p)
		p = strstr(full, "flash_bwd");
	if (!p)
		return false;
	while (n + 1 < sizeof(name) && (isalnum((unsigned char)*p) || *p == '_') &&
	       strncmp(p, "_kernel", 7) != 0) {
		name[n++] = *p == '_' ? ' ' : *p;
		p++;
	}
	name[n] = 0;
	if (traits && number(traits + strlen("kernel_traits<"), &head))
		snprintf(brief, KERNEL_BRIEF_MAX + 1, "%s head %u%s%s", name, head, type ? " " : "",
			 type ? type : "");
	else
		snprintf(brief, KERNEL_BRIEF_MAX + 1, "%s%s%s", name, type ? " " : "",
			 type ? type : "");
	return true;
}

/* Architecture first, then a code: how cuBLAS and cuDNN name their kernels. */
static bool cublas_code(const char *name)
{
	static const char *const begins[] = { "volta_",  "turing_",    "ampere_",  "ada_",
					      "hopper_", "blackwell_", "maxwell_", "pascal_",
					      "sm70_",   "sm75_",      "sm80_",    "sm86_",
					      "sm89_",   "sm90_",      "sm100_" };

	for (size_t i = 0; i < COUNT(begins); i++)
		if (!strncmp(name, begins[i], strlen(begins[i])))
			return true;
	return false;
}

/* "nvjet_hsh_128x64...", since CUDA 13 "nvjet_sm90_hsh_128x64..."; NULL: it is not known. */
static const char *nvjet_type(const char *full)
{
	const char *p = strstr(full, "nvjet_");

	if (!p)
		return NULL;
	p += strlen("nvjet_");
	if (!strncmp(p, "sm", 2) && isdigit((unsigned char)p[2]))
		p += strcspn(p, "_");
	p += *p == '_';
	for (size_t i = 0; i < COUNT(nvjet_types); i++)
		if (*p == nvjet_types[i].letter)
			return nvjet_types[i].say;
	return NULL;
}

static const struct word cublas_marks[] = {
	{ "cublas", "" },
	{ "gemmSN_", "" },
	{ "gemv2T_kernel", "" },
	{ "gemv2N_kernel", "" },
	{ "gemvNSP_kernel", "" },
	{ "gemvx::kernel", "" },
	{ "splitKreduce_kernel", "" },
};

static const char *family_of(const char *full)
{
	if (strstr(full, "nvjet"))
		return "nvjet";
	if (strstr(full, "fmha_cutlass"))
		return "cutlass";
	if (strstr(full, "xmma"))
		return strstr(full, "cudnn") ? "cudnn" : "xmma";
	if (strstr(full, "cutlass"))
		return "cutlass";
	if (cublas_code(full))
		return strstr(full, "cudnn") ? "cudnn" : "cublas";
	if (find_word(full, cublas_marks, COUNT(cublas_marks)))
		return "cublas";
	return NULL;
}

bool kernel_library_brief(const char *full, char brief[KERNEL_BRIEF_MAX + 1])
{
	const char *type = nvjet_type(full);
	const char *family = family_of(full);
	const char *operation = find_word(full, operations, COUNT(operations));
	char tile[40] = "";

	if (!strncmp(full, "triton_", strlen("triton_")))
		return false; /* says what it does already */
	if (!type)
		type = find_word(full, types, COUNT(types));
	if (flash_brief(full, brief, type))
		return true;
	if (!family || !operation)
		return false;
	if (!tile_in_name(full, tile, sizeof(tile)))
		tile_in_template(full, tile, sizeof(tile));
	snprintf(brief, KERNEL_BRIEF_MAX + 1, "%s %s%s%s%s", family, operation, tile,
		 type ? " " : "", type ? type : "");
	return true;
}
