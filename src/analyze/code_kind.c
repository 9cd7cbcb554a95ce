#include "analyze/code_kind.h"

#include <stddef.h>
#include <string.h>

#include "analyze/waits.h"
#include "timeline/user_code.h"

/* Functions whose whole time has one purpose; samples before 3.11 know no classes. */
static const struct {
	const char *file; /* how it ends */
	const char *name; /* the last part of the qualified name */
	enum code_kind kind;
} purposes[] = {
	{ "/torch/_dynamo/convert_frame.py", "_compile", CODE_COMPILES },
	{ "/torch/jit/_script.py", "script", CODE_COMPILES },
	{ "/torch/jit/_trace.py", "trace", CODE_COMPILES },
	{ "/torch/export/__init__.py", "export", CODE_COMPILES },
	{ "/torch/utils/cpp_extension.py", "load", CODE_COMPILES },
	{ "/torch/utils/cpp_extension.py", "load_inline", CODE_COMPILES },
	{ "/triton/compiler/compiler.py", "compile", CODE_COMPILES },
	{ "/torch/utils/data/dataloader.py", "_get_data", CODE_LOADS },
	{ "<frozen importlib._bootstrap>", "_find_and_load", CODE_IMPORTS },
};

/* Functions around the work of every model, or of every layer of one. */
static const struct {
	const char *file; /* how it ends, in a build of one's own too */
	const char *name; /* a part of the qualified name */
	bool told;        /* the agent records those layers */
} callers[] = {
	{ "/torch/nn/modules/module.py", "_call_impl", true },
	{ "/onnxruntime/capi/onnxruntime_inference_collection.py", "Session.run", false },
	{ "/keras/src/layers/layer.py", "Layer.__call__", false },
	{ "/tensorflow/python/eager/polymorphic_function/polymorphic_function.py",
	  "Function.__call__", false },
};

/* Packages, as folders of the place where packages are installed. */
static const char *const frameworks[] = {
	"/torch/",
	"/torchvision/models/",
	"/torchvision/ops/",
	"/transformers/",
	"/diffusers/",
	"/accelerate/",
	"/timm/",
	"/triton/",
	"/vllm/",
	"/sglang/",
	"/tensorflow/",
	"/keras/",
	"/jax/",
	"/jaxlib/",
	"/flax/",
	"/haiku/",
	"/onnxruntime/",
	"/tensorrt/",
	"/tensorrt_llm/",
	"/torch_tensorrt/",
	"/xformers/",
	"/flash_attn/",
};

/* What of them prepares inputs and is therefore no overhead of theirs. */
static const char *const preparing[] = {
	"/torch/utils/data/", "/tokenization_",       "/image_processing_", "/image_transforms",
	"/image_utils",       "/feature_extraction_", "/audio_utils",       "/processing_",
};

/*
 * Packages for arrays, images, sound, text and tables.  Outside of models every package counts as
 * one of these; inside, one that is missing here counts as a part of the model.
 */
static const char *const for_data[] = {
	"/numpy/",
	"/scipy/",
	"/pandas/",
	"/polars/",
	"/pyarrow/",
	"/sklearn/",
	"/PIL/",
	"/cv2/",
	"/skimage/",
	"/imageio/",
	"/torchvision/transforms/",
	"/torchvision/io/",
	"/albumentations/",
	"/kornia/augmentation/",
	"/av/",
	"/decord/",
	"/torchcodec/",
	"/librosa/",
	"/soundfile",
	"/resampy/",
	"/torchaudio/transforms/",
	"/torchaudio/functional/",
	"/tokenizers/",
	"/sentencepiece/",
	"/tiktoken/",
	"/regex/",
	"/ftfy/",
	"/nltk/",
	"/spacy/",
	"/jieba/",
	"/bs4/",
	"/lxml/",
	"/yaml/",
	"/datasets/",
};

static const char *const installed[] = { "/site-packages", "/dist-packages" };

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !memcmp(text + n - m, end, m);
}

/* The package's path from the slash before its name on; NULL: it is in none. */
static const char *package_of(const char *file)
{
	for (size_t i = 0; i < COUNT(installed); i++) {
		const char *at = strstr(file, installed[i]);

		if (at)
			return at + strlen(installed[i]);
	}
	return NULL;
}

static bool is_in(const char *package, const char *const *folders, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!strncmp(package, folders[i], strlen(folders[i])))
			return true;
	}
	return false;
}

static enum code_kind package_kind(const char *package)
{
	for (size_t i = 0; i < COUNT(preparing); i++) {
		if (strstr(package, preparing[i]))
			return CODE_PREPARES;
	}
	if (is_in(package, frameworks, COUNT(frameworks)))
		return CODE_FRAMEWORK;
	return is_in(package, for_data, COUNT(for_data)) ? CODE_PREPARES : CODE_LIBRARY;
}

/* COUNT(callers): it is none. */
static size_t caller_of(const char *name, const char *file)
{
	size_t i = 0;

	while (i < COUNT(callers) &&
	       !(ends_with(file, callers[i].file) && strstr(name, callers[i].name)))
		i++;
	return i;
}

bool code_calls_module(const char *name, const char *file)
{
	return caller_of(name, file) < COUNT(callers);
}

bool code_calls_untold_module(const char *name, const char *file)
{
	size_t i = caller_of(name, file);

	return i < COUNT(callers) && !callers[i].told;
}

enum code_kind code_kind(const char *name, const char *file)
{
	const char *last = strrchr(name, '.'), *package;

	last = last ? last + 1 : name;
	for (size_t i = 0; i < COUNT(purposes); i++) {
		if (!strcmp(last, purposes[i].name) && ends_with(file, purposes[i].file))
			return purposes[i].kind;
	}
	if (code_calls_module(name, file))
		return CODE_MODULE;
	if (function_waits(name, file))
		return CODE_WAITS;
	if (!*file)
		return CODE_STANDARD; /* it is known to be nobody's */
	if (user_code(file))
		return CODE_USER;
	package = package_of(file);
	if (package)
		return package_kind(package);
	/* A build of one's own, and code that is generated while the program runs. */
	return strstr(file, "/torch/") || strstr(file, "/torchinductor_") ||
			       strstr(file, "<eval_with_key>")
		       ? CODE_FRAMEWORK
		       : CODE_STANDARD;
}
