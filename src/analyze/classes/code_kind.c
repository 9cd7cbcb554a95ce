#include "analyze/classes/code_kind.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "timeline/code_owner.h"
#include "format/torch_scopes.h"
#include "timeline/functions.h"

/* The first that is a part of the library's path. */
static const struct {
	const char *library;
	enum native_kind kind;
} libraries[] = {
	{ "/numpy/", NATIVE_ARRAYS },
	{ "/numpy.libs/", NATIVE_ARRAYS },
	{ "/libgomp", NATIVE_THREADS },
	{ "/libiomp5", NATIVE_THREADS },
	{ "/libomp", NATIVE_THREADS },
	/* Nothing but what is between Python and the operators. */
	{ "/libtorch_python", NATIVE_DISPATCH },
	{ "/libc10.so", NATIVE_DISPATCH },
	{ "/libtorch", NATIVE_KERNEL },
	{ "/scipy/", NATIVE_ARRAYS },
	{ "/scipy.libs/", NATIVE_ARRAYS },
	{ "/jaxlib/", NATIVE_KERNEL },
	{ "/tensorflow/", NATIVE_KERNEL },
	{ "/onnxruntime/", NATIVE_KERNEL },
	{ "/sklearn/", NATIVE_KERNEL },
	{ "/xgboost/", NATIVE_KERNEL },
	{ "/lightgbm/", NATIVE_KERNEL },
	{ "/catboost/", NATIVE_KERNEL },
	{ "/ctranslate2", NATIVE_KERNEL }, /* also its folder of libraries */
	{ "/openvino/", NATIVE_KERNEL },
	{ "/faiss", NATIVE_KERNEL },
	{ "/spacy/", NATIVE_KERNEL },
	{ "/thinc/", NATIVE_KERNEL },
	{ "/libggml", NATIVE_KERNEL },
	{ "/libllama", NATIVE_KERNEL },
	{ "llamacpp", NATIVE_KERNEL },
	{ "/torch/lib/", NATIVE_KERNEL },
	{ "/libpython", NATIVE_PYTHON },
	{ "/bin/python", NATIVE_PYTHON },
	{ "/libc.so", NATIVE_ANYBODYS },
	{ "/libm.so", NATIVE_ANYBODYS },
	{ "/ld-linux", NATIVE_ANYBODYS },
	{ "/libstdc++", NATIVE_ANYBODYS },
};

/* Kernels are compiled for several kinds of CPUs, each in a namespace of its own. */
static const char *const kernels[] = { "::AVX2::", "::AVX512::", "::DEFAULT::", "::SVE256::" };

/* How the names begin of what PyTorch does around them. */
static const char *const dispatches[] = {
	"c10::",
	"torch::",
	"pybind11::",
	"THP",
	"at::_ops::",
	"at::Tensor", /* also TensorIteratorBase, TensorImpl */
	"at::OperandInfo",
	"at::RecordFunction",
	"at::getStepCallbacks",
	"at::globalContext",
	"at::detail::",
	"at::impl::",
	"at::meta::",
	"at::redispatch::",
	"at::namedinference::",
	"at::(anonymous namespace)::", /* the generated wrappers of each operator */
	"at::native::DispatchStub",
	"at::native::result_type",
	"at::native::update_result_type_state",
	"at::native::as_strided",
	"at::native::select",
};

#define NATIVE_KINDS(a) (sizeof(a) / sizeof((a)[0]))

static bool is_on_its_way(const char *symbol)
{
	static const char returns[] =
		"void "; /* demangled names of templates include the return type */

	for (size_t i = 0; i < NATIVE_KINDS(kernels); i++)
		if (strstr(symbol, kernels[i]))
			return false;
	if (!strncmp(symbol, returns, sizeof(returns) - 1))
		symbol += sizeof(returns) - 1;
	for (size_t i = 0; i < NATIVE_KINDS(dispatches); i++)
		if (!strncmp(symbol, dispatches[i], strlen(dispatches[i])))
			return true;
	return false;
}

enum native_kind native_kind(const char *symbol, const char *library)
{
	/* Regular expressions are matched by native code, like what any other library does. */
	if (symbol && !strncmp(symbol, "sre_", 4))
		return NATIVE_OTHER;
	for (size_t i = 0; library && i < NATIVE_KINDS(libraries); i++) {
		enum native_kind kind = libraries[i].kind;

		if (!strstr(library, libraries[i].library))
			continue;
		return kind == NATIVE_KERNEL && symbol && is_on_its_way(symbol) ? NATIVE_DISPATCH
										: kind;
	}
	return NATIVE_OTHER;
}

static const struct wait {
	const char *file; /* how it ends */
	const char *name; /* qualified; before 3.11 a class may be missing from it */
	bool works;       /* when there is something to do, inside of it */
} waits[] = {
	{ "/threading.py", "Condition.wait", false },
	{ "/threading.py", "Thread._wait_for_tstate_lock", false },
	{ "/threading.py", "Thread.join", false },
	{ "/selectors.py", "EpollSelector.select", false },
	{ "/selectors.py", "_PollLikeSelector.select", false },
	{ "/selectors.py", "SelectSelector._select", false },
	{ "/selectors.py", "SelectSelector.select", false },
	/* An event loop in native code, uvloop's, has no functions of its own. */
	{ "/asyncio/runners.py", "Runner.run", true },
	{ "/asyncio/runners.py", "run", true },
	{ "/uvicorn/server.py", "Server.run", true },
	{ "/aiohttp/web.py", "run_app", true },
	{ "/concurrent/futures/thread.py", "_worker", true },
	{ "/multiprocessing/connection.py", "Connection._recv", false },
	{ "/multiprocessing/connection.py", "wait", false },
	/* in SimpleQueue.get(), which is C */
	{ "/multiprocessing/pool.py", "Pool._handle_tasks", true },
	{ "/multiprocessing/popen_fork.py", "Popen.poll", false },
	{ "/multiprocessing/resource_tracker.py", "main", true },
	{ "/multiprocessing/synchronize.py", "SemLock.__enter__", false },
	{ "/subprocess.py", "Popen._try_wait", false },
	{ "/socket.py", "socket.accept", false },
	{ IMPORT_OS_RUNTIME, "poll", false },
	{ IMPORT_OS_RUNTIME, "ppoll", false },
	{ IMPORT_OS_RUNTIME, "select", false },
	{ IMPORT_OS_RUNTIME, "pselect", false },
	{ IMPORT_OS_RUNTIME, "epoll_wait", false },
	{ IMPORT_OS_RUNTIME, "epoll_pwait", false },
	{ IMPORT_OS_RUNTIME, "pthread_cond_wait", false },
	{ IMPORT_OS_RUNTIME, "pthread_cond_timedwait", false },
	{ IMPORT_OS_RUNTIME, "pthread_cond_clockwait", false },
	{ IMPORT_OS_RUNTIME, "pthread_join", false },
	{ IMPORT_OS_RUNTIME, "sem_wait", false },
	{ IMPORT_OS_RUNTIME, "sem_timedwait", false },
	{ IMPORT_OS_RUNTIME, "sem_clockwait", false },
	{ IMPORT_OS_RUNTIME, "nanosleep", false },
	{ IMPORT_OS_RUNTIME, "clock_nanosleep", false },
	{ IMPORT_OS_RUNTIME, "usleep", false },
	{ IMPORT_OS_RUNTIME, "sleep", false },
	{ IMPORT_OS_RUNTIME, "waitpid", false },
	{ IMPORT_OS_RUNTIME, "accept", false },
};

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !memcmp(text + n - m, end, m);
}

/* Samples of a Python before 3.11 know no classes at all. */
static bool is_called(const char *name, const char *qualified)
{
	const char *dot = strrchr(qualified, '.');

	return !strcmp(name, qualified) || (dot && !strcmp(name, dot + 1));
}

static bool is(const char *name, const char *file, const char *qualified)
{
	return is_called(name, qualified) && ends_with(file, "/threading.py");
}

bool function_is_woken(const char *name, const char *file)
{
	return is(name, file, "Condition.wait");
}

bool function_wakes(const char *name, const char *file)
{
	return is(name, file, "Condition.notify");
}

/* NULL: it is none. */
static const struct wait *find(const char *name, const char *file)
{
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		if (is_called(name, waits[i].name) && ends_with(file, waits[i].file))
			return &waits[i];
	}
	return NULL;
}

bool function_waits(const char *name, const char *file)
{
	return find(name, file) != NULL;
}

bool function_loops(const char *name, const char *file)
{
	static const char *const files[] = { "/selectors.py", "/asyncio/runners.py",
					     "/uvicorn/server.py", "/aiohttp/web.py" };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (ends_with(file, files[i]))
			return function_waits(name, file);
	return false;
}

bool function_only_waits(const char *name, const char *file)
{
	const struct wait *w = find(name, file);

	return w && !w->works;
}

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
	{ "/jax/_src/pjit.py", "_trace_for_jit", CODE_COMPILES },
	{ "/jax/_src/pjit.py", "_create_pjit_jaxpr", CODE_COMPILES },
	{ "/jax/_src/pjit.py", "_pjit_lower", CODE_COMPILES },
	{ "/jax/_src/interpreters/pxla.py", "compile", CODE_COMPILES },
	{ "/jax/_src/compiler.py", "compile_or_get_cached", CODE_COMPILES },
	{ "/tensorflow/python/eager/polymorphic_function/tracing_compilation.py",
	  "_create_concrete_function", CODE_COMPILES },
	{ "/torch/serialization.py", "load", CODE_BUILDS },
	{ "/torch/jit/_serialization.py", "load", CODE_BUILDS },
	{ "/torch/hub.py", "load", CODE_BUILDS },
	/* Module.to(), half(), cuda() and their like all go through it. */
	{ "/torch/nn/modules/module.py", "_apply", CODE_BUILDS },
	{ "/torch/nn/modules/module.py", "load_state_dict", CODE_BUILDS },
	{ "/safetensors/torch.py", "load_file", CODE_BUILDS },
	{ "/transformers/modeling_utils.py", "from_pretrained", CODE_BUILDS },
	{ "/transformers/modeling_utils.py", "post_init", CODE_BUILDS },
	{ "/transformers/modeling_utils.py", "init_weights", CODE_BUILDS },
	{ "/transformers/models/auto/auto_factory.py", "from_pretrained", CODE_BUILDS },
	{ "/transformers/tokenization_utils_base.py", "from_pretrained", CODE_BUILDS },
	{ "/transformers/pipelines/__init__.py", "pipeline", CODE_BUILDS },
	{ "/diffusers/pipelines/pipeline_utils.py", "from_pretrained", CODE_BUILDS },
	{ "/sentence_transformers/SentenceTransformer.py", "__init__", CODE_BUILDS },
	{ "/timm/models/_factory.py", "create_model", CODE_BUILDS },
	{ "/onnxruntime/capi/onnxruntime_inference_collection.py", "_create_inference_session",
	  CODE_BUILDS },
	{ "/keras/src/saving/saving_api.py", "load_model", CODE_BUILDS },
	{ "/tensorflow/python/saved_model/load.py", "load", CODE_BUILDS },
	{ "/joblib/numpy_pickle.py", "load", CODE_BUILDS },
	{ "/xgboost/core.py", "load_model", CODE_BUILDS },
	{ "/faster_whisper/transcribe.py", "__init__", CODE_BUILDS },
	{ "/whisper/__init__.py", "load_model", CODE_BUILDS },
	{ "/llama_cpp/llama.py", "__init__", CODE_BUILDS },
	{ "/ultralytics/engine/model.py", "__init__", CODE_BUILDS },
	{ "/spacy/util.py", "load_model", CODE_BUILDS },
	{ "/torch/utils/data/dataloader.py", "_get_data", CODE_LOADS },
	{ "<frozen importlib._bootstrap>", "_find_and_load", CODE_IMPORTS },
};

/* Parts of the path of packages whose constructors make models' parts; of one file all functions
 * do.
 */
static const char *const built_in[] = { "/torch/nn/modules/", "/transformers/models/" };
static const char initializers[] = "/torch/nn/init.py";

/* Functions around the work of every model, or of every layer of one. */
static const struct {
	const char *file; /* how it ends, in a build of one's own too */
	const char *name; /* a part of the qualified name */
	bool reported;    /* the agent records those layers */
} callers[] = {
	{ "/torch/nn/modules/module.py", "_call_impl", true },
	{ "/onnxruntime/capi/onnxruntime_inference_collection.py", "Session.run", false },
	{ "/keras/src/layers/layer.py", "Layer.__call__", false },
	{ "/spacy/language.py", "Language.__call__", false },
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
	/* Models that are no networks; what of scikit-learn prepares data is listed below. */
	"/sklearn/",
	"/xgboost/",
	"/lightgbm/",
	"/catboost/",
	"/ctranslate2/",
	"/llama_cpp/",
	"/xllamacpp/",
	"/faiss/",
	"/sentence_transformers/",
	"/faster_whisper/",
	"/spacy/",
	"/thinc/",
	"/openvino/",
};

/* What of them prepares inputs and is therefore no overhead of theirs. */
static const char *const preparing[] = {
	"/torch/utils/data/",
	"/tokenization_",
	"/image_processing_",
	"/image_transforms",
	"/image_utils",
	"/feature_extraction_",
	"/audio_utils",
	"/processing_",
	"/sklearn/preprocessing/",
	"/sklearn/feature_extraction/",
	"/sklearn/impute/",
	"/sklearn/datasets/",
	"/sklearn/model_selection/_split",
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
	"/jieba/",
	"/bs4/",
	"/lxml/",
	"/yaml/",
	"/datasets/",
};

static const char *const installed[] = { "/site-packages", "/dist-packages" };

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

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

bool framework_package(const char *name)
{
	size_t n = strcspn(name, ".");

	for (size_t i = 0; n && i < COUNT(frameworks); i++)
		if (!strncmp(frameworks[i] + 1, name, n) && frameworks[i][n + 1] == '/')
			return true;
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

bool code_calls_unrecorded_module(const char *name, const char *file)
{
	size_t i = caller_of(name, file);

	return i < COUNT(callers) && !callers[i].reported;
}

static bool builds_parts(const char *last, const char *file)
{
	if (ends_with(file, initializers))
		return true;
	for (size_t i = 0; !strcmp(last, "__init__") && i < COUNT(built_in); i++)
		if (strstr(file, built_in[i]))
			return true;
	return false;
}

enum code_kind code_kind(const char *name, const char *file)
{
	const char *last = strrchr(name, '.'), *package;

	last = last ? last + 1 : name;
	for (size_t i = 0; i < COUNT(purposes); i++) {
		if (!strcmp(last, purposes[i].name) && ends_with(file, purposes[i].file))
			return purposes[i].kind;
	}
	if (builds_parts(last, file))
		return CODE_BUILDS;
	if (code_calls_module(name, file))
		return CODE_MODULE;
	if (function_waits(name, file))
		return CODE_WAITS;
	if (!*file)
		return CODE_STANDARD; /* it is known to belong to no owner */
	if (own_code(file))
		return CODE_OWN;
	if (user_frame(name, file))
		return CODE_USER;
	if (user_code(file))
		return CODE_STANDARD; /* it starts or makes up for what others wrote */
	package = package_of(file);
	if (package)
		return package_kind(package);
	/* A build of one's own, and code that is generated while the program runs. */
	return strstr(file, "/torch/") || strstr(file, "/torchinductor_") ||
			       strstr(file, "<eval_with_key>") || !strcmp(file, IMPORT_OPERATORS)
		       ? CODE_FRAMEWORK
		       : CODE_STANDARD;
}
