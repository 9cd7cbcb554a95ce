#include "capture/drain/drain_state.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/varint.h"
#include "format/record.h"

#define DISTRIBUTIONS 4u
#define ENTRIES_MAX 100000u /* of a folder: another user's may have any number of entries */

/* How a package is imported, and under which names it is installed where that is not the same. */
static const struct {
	const char *package;
	const char *distributions[DISTRIBUTIONS];
} known[] = {
	{ "accelerate", { "accelerate" } },
	{ "bitsandbytes", { "bitsandbytes" } },
	{ "catboost", { "catboost" } },
	{ "ctranslate2", { "ctranslate2" } },
	{ "cupy", { "cupy", "cupy_cuda11x", "cupy_cuda12x", "cupy_cuda13x" } },
	{ "deepspeed", { "deepspeed" } },
	{ "diffusers", { "diffusers" } },
	{ "faster_whisper", { "faster_whisper" } },
	{ "flash_attn", { "flash_attn" } },
	{ "flashinfer", { "flashinfer_python", "flashinfer" } },
	{ "flax", { "flax" } },
	{ "jax", { "jax" } },
	{ "jaxlib", { "jaxlib" } },
	{ "keras", { "keras" } },
	{ "lightgbm", { "lightgbm" } },
	{ "llama_cpp", { "llama_cpp_python" } },
	{ "numba", { "numba" } },
	{ "numpy", { "numpy" } },
	{ "onnxruntime", { "onnxruntime", "onnxruntime_gpu" } },
	{ "openvino", { "openvino" } },
	{ "paddle", { "paddlepaddle", "paddlepaddle_gpu" } },
	{ "sentence_transformers", { "sentence_transformers" } },
	{ "sglang", { "sglang" } },
	{ "sklearn", { "scikit_learn" } },
	{ "tensorflow", { "tensorflow", "tensorflow_cpu", "tensorflow_gpu", "tf_nightly" } },
	{ "tensorrt", { "tensorrt", "tensorrt_cu12", "tensorrt_cu13" } },
	{ "tensorrt_llm", { "tensorrt_llm" } },
	{ "timm", { "timm" } },
	{ "torch", { "torch" } },
	{ "torch_tensorrt", { "torch_tensorrt" } },
	{ "torchaudio", { "torchaudio" } },
	{ "torchvision", { "torchvision" } },
	{ "transformers", { "transformers" } },
	{ "triton", { "triton", "pytorch_triton" } },
	{ "ultralytics", { "ultralytics" } },
	{ "vllm", { "vllm" } },
	{ "xformers", { "xformers" } },
	{ "xgboost", { "xgboost", "xgboost_cpu" } },
};

#define KNOWN (sizeof(known) / sizeof(known[0]))

_Static_assert(KNOWN <= FRAMEWORKS_MAX, "a folder for each");

void frameworks_release(struct frameworks *f)
{
	for (size_t i = 0; i < KNOWN; i++)
		free(f->folders[i]);
	memset(f, 0, sizeof(*f));
}

/* The file of a DEF_CODE; 0 bytes: there is none, or it is invalid. */
static const char *file_of(const void *payload, size_t bytes, size_t *length)
{
	const uint8_t *end = (const uint8_t *)payload + bytes, *p;
	uint64_t line, name;

	*length = 0;
	p = varint_get(payload, end, &line);
	p = p ? varint_get(p, end, &name) : NULL;
	if (!p || name > (uint64_t)(end - p))
		return NULL;
	p += name;
	*length = (size_t)(end - p);
	return (const char *)p;
}

/* Behind the last folder in which packages are installed; NULL: the file is in none. */
static const char *package_of(const char *file, size_t length)
{
	static const char folder[] = "-packages/"; /* site- or, as Debian has it, dist- */
	const char *end = file + length, *found = NULL;

	for (const char *p = file; (p = memmem(p, (size_t)(end - p), folder, sizeof(folder) - 1));)
		found = p += sizeof(folder) - 1;
	return found;
}

void frameworks_note(struct frameworks *f, uint8_t kind, const void *payload, size_t bytes)
{
	const char *file, *package, *slash;
	size_t length;

	if (kind != DEF_CODE)
		return;
	file = file_of(payload, bytes, &length);
	package = length ? package_of(file, length) : NULL;
	slash = package ? memchr(package, '/', length - (size_t)(package - file)) : NULL;
	if (!slash || length >= PATH_MAX)
		return;
	for (size_t i = 0; i < KNOWN; i++) {
		if (strlen(known[i].package) != (size_t)(slash - package) ||
		    memcmp(known[i].package, package, (size_t)(slash - package)) != 0)
			continue;
		if (!f->folders[i])
			f->folders[i] = strndup(file, (size_t)(package - file));
		return;
	}
}

/* Installers differ about case, and about '-', '_' and '.'. */
static bool is_called(const char *entry, size_t length, const char *distribution)
{
	for (size_t i = 0; i < length; i++) {
		char c = strchr("-.", entry[i]) ? '_' : (char)tolower((uint8_t)entry[i]);

		if (c != distribution[i]) /* its end is none of these either */
			return false;
	}
	return !distribution[length];
}

/* "2.11.0" of "torch-2.11.0.dist-info" or "torch-2.11.0-py3.11.egg-info"; false: of neither. */
static bool version_in(const char *entry, const char *distribution, char version[FRAMEWORK_VERSION])
{
	const char *dash = strchr(entry, '-'), *end = strstr(entry, ".dist-info");
	size_t n;

	if (!end)
		end = strstr(entry, ".egg-info");
	if (!dash || !end || end < dash || !is_called(entry, (size_t)(dash - entry), distribution))
		return false;
	n = strspn(dash + 1, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.+!_");
	if (n > (size_t)(end - dash - 1))
		n = (size_t)(end - dash - 1);
	if (!n || n >= FRAMEWORK_VERSION || (dash + 1 + n < end && dash[1 + n] != '-'))
		return false;
	memcpy(version, dash + 1, n);
	version[n] = '\0';
	return true;
}

static void find_version(size_t framework, const char *folder, char version[FRAMEWORK_VERSION])
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;

	for (size_t n = 0; dir && n < ENTRIES_MAX && (entry = readdir(dir)); n++) {
		for (size_t i = 0; i < DISTRIBUTIONS && known[framework].distributions[i]; i++) {
			if (version_in(entry->d_name, known[framework].distributions[i], version))
				goto out;
		}
	}
out:
	if (dir)
		closedir(dir);
}

int frameworks_write(const struct frameworks *f, struct trace_writer *w, struct err *err)
{
	for (size_t i = 0; i < KNOWN; i++) {
		char version[FRAMEWORK_VERSION] = "", fact[2 * FRAMEWORK_VERSION];

		if (!f->folders[i])
			continue;
		find_version(i, f->folders[i], version);
		snprintf(fact, sizeof(fact), "%s%s%s", known[i].package, *version ? " " : "",
			 version);
		if (trace_write_info(w, "framework", fact, err))
			return -1;
	}
	return 0;
}
