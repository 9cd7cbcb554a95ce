/* links: is_analyze */
/* Whose code a function is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/classes/code_kind.h"

#define SITE "/opt/venv/lib/python3.12/site-packages"

static const struct {
	const char *name, *file;
	enum code_kind kind;
} functions[] = {
	{ "main", "/srv/app/serve.py", CODE_USER },
	{ "cell", "<ipython-input-3-abc>", CODE_USER },
	/* A folder of the user's that is called like a framework. */
	{ "main", "/home/ada/torch_server/main.py", CODE_USER },
	{ "Module._call_impl", SITE "/torch/nn/modules/module.py", CODE_MODULE },
	{ "_wrapped_call_impl", "/home/ada/pytorch/torch/nn/modules/module.py", CODE_MODULE },
	{ "Module.to", SITE "/torch/nn/modules/module.py", CODE_FRAMEWORK },
	{ "GPT2Model.forward", SITE "/transformers/models/gpt2/modeling_gpt2.py", CODE_FRAMEWORK },
	{ "forward", "<eval_with_key>.3", CODE_FRAMEWORK },
	{ "call", "/tmp/torchinductor_ada/ab/cab.py", CODE_FRAMEWORK },
	/* What prepares inputs is no overhead. */
	{ "GPT2Tokenizer.bpe", SITE "/transformers/models/gpt2/tokenization_gpt2.py",
	  CODE_PREPARES },
	{ "default_collate", SITE "/torch/utils/data/_utils/collate.py", CODE_PREPARES },
	{ "Resize.forward", SITE "/torchvision/transforms/transforms.py", CODE_PREPARES },
	{ "ResNet.forward", SITE "/torchvision/models/resnet.py", CODE_FRAMEWORK },
	{ "resize", SITE "/numpy/lib/image.py", CODE_PREPARES },
	{ "open", "/usr/lib/python3/dist-packages/PIL/Image.py", CODE_PREPARES },
	/* On no list: whose it is depends on who calls it. */
	{ "Bottleneck.forward", SITE "/ultralytics/nn/modules/block.py", CODE_LIBRARY },
	{ "loads", "/usr/lib/python3.12/json/__init__.py", CODE_STANDARD },
	{ "_find_and_load", "<frozen importlib._bootstrap>", CODE_IMPORTS },
	{ "_call_with_frames_removed", "<frozen importlib._bootstrap>", CODE_STANDARD },
	{ "Session.run", SITE "/onnxruntime/capi/onnxruntime_inference_collection.py",
	  CODE_MODULE },
	{ "(unknown)", "", CODE_STANDARD },
	{ "_compile", SITE "/torch/_dynamo/convert_frame.py", CODE_COMPILES },
	{ "_compile", "/srv/app/convert_frame.py", CODE_USER },
	{ "_MultiProcessingDataLoaderIter._get_data", SITE "/torch/utils/data/dataloader.py",
	  CODE_LOADS },
	/* Before 3.11 samples know no classes. */
	{ "_get_data", SITE "/torch/utils/data/dataloader.py", CODE_LOADS },
	{ "Condition.wait", "/usr/lib/python3.12/threading.py", CODE_WAITS },
	/* InferScope's own start-up: an installation, a wheel, INFERSCOPE_ENABLE. */
	{ "_start_inferscope", "/usr/lib/inferscope/shim/sitecustomize.py", CODE_OWN },
	{ "<module>", SITE "/inferscope/shim/sitecustomize.py", CODE_OWN },
	{ "autostart", SITE "/inferscope/_autostart.py", CODE_OWN },
	{ "start", "/usr/lib/inferscope/python/inferscope/_recorder.py", CODE_OWN },
	{ "<module>", "/srv/app/sitecustomize.py", CODE_USER },
	{ "Runner.run", "/usr/lib/python3.12/asyncio/runners.py", CODE_WAITS },
	/* Making a model is no work of one. */
	{ "normal_", SITE "/torch/nn/init.py", CODE_BUILDS },
	{ "Linear.__init__", SITE "/torch/nn/modules/linear.py", CODE_BUILDS },
	{ "BertModel.__init__", SITE "/transformers/models/bert/modeling_bert.py", CODE_BUILDS },
	{ "Linear.forward", SITE "/torch/nn/modules/linear.py", CODE_FRAMEWORK },
	{ "Language.__call__", SITE "/spacy/language.py", CODE_MODULE },
	{ "Pool._handle_tasks", "/usr/lib/python3.12/multiprocessing/pool.py", CODE_WAITS },
};

static void each_function_is_somebodys(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		enum code_kind kind = code_kind(functions[i].name, functions[i].file);

		if (kind != functions[i].kind)
			fail_msg("%s in %s: %d", functions[i].name, functions[i].file, (int)kind);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_function_is_somebodys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
