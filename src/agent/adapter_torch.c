/*
 * PyTorch: the modules of a model as layers, loading of data and compilation as scopes.
 *
 * From 3.12 on modules are seen by the function that calls them, and PyTorch has nothing of
 * ours in it: torch.compile, torch.export, torch.fx, torch.jit, pickle and copy find what
 * they always find.  Before, torch_hooks.h is what tells, until torch.compile is used.
 */
#include "agent/adapter_torch.h"

#include <string.h>

#include "agent/adapter.h"
#include "agent/adapter_scopes.h"
#include "agent/frames.h"
#include "agent/layer_folds.h"
#include "agent/layers.h"
#include "agent/torch_memory.h"
#include "format/torch_scopes.h"

/*
 * nn.Module keeps its parts in a dict that it has under this name.  TorchScript has something else
 * there, and runs the parts without Python: its modules are layers without parts.
 */
static PyObject *parts_of(PyObject *module)
{
	static PyObject *key;
	PyObject *attributes = py.Object_Dict(module, NULL), *parts = NULL;

	if (!key)
		key = py.Unicode_Intern("_modules");
	if (attributes && key && py_is(attributes, py.DictType))
		parts = py.Dict_Get(attributes, key);
	if (parts)
		parts = py_is(parts, py.DictType) ? py_new_ref(parts) : py.Dict_New();
	py_drop(attributes);
	py.Err_Clear();
	return parts;
}

const struct layer_kind torch_modules = { parts_of };

static void module_begins(struct ring *r)
{
	PyObject *module = torch_hooks_tell ? NULL : frames_argument("self");

	adapter_scopes_look(r);
	if (module)
		layers_begin(r, module, &torch_modules);
}

static void module_ends(struct ring *r)
{
	if (!torch_hooks_tell)
		layers_end_here(r);
	torch_memory_pass(r);
}

static void forward_begins(struct ring *r, uint16_t number)
{
	PyObject *module = frames_argument_of(0);

	adapter_scopes_look(r);
	if (module)
		layers_begin_forward(r, module, number, &torch_modules);
}

static void forward(struct ring *r, uint16_t number, uint8_t kind)
{
	if (kind == RECORD_CALL)
		forward_begins(r, number);
	else if (kind == RECORD_RETURN || kind == RECORD_UNWIND)
		module_ends(r);
}

static PyObject *text_for_ever(PyObject **kept, const char *text)
{
	if (!*kept)
		*kept = py.Unicode_Intern(text);
	return *kept;
}

/* The main process waits for its workers. */
static void wait_begins(struct ring *r)
{
	static PyObject *name;

	adapter_scope_begin(r, text_for_ever(&name, TORCH_WAIT), NULL);
}

/* In a worker; in a program without workers, where it is needed. */
static void load_begins(struct ring *r)
{
	static PyObject *name;

	adapter_scope_begin(r, text_for_ever(&name, TORCH_LOAD), NULL);
}

static const struct {
	const char *key, *attribute; /* of a code object */
} compiled[] = {
	{ TORCH_COMPILE_FUNCTION, "co_name" },
	{ TORCH_COMPILE_FILE, "co_filename" },
	{ TORCH_COMPILE_LINE, "co_firstlineno" },
};

static void put_fact(struct args *args, const char *key, PyObject *fact)
{
	const struct text name = { key, (uint32_t)strlen(key), NULL };

	args_put(args, &name, fact);
}

/* What is compiled; borrowed, NULL where it cannot be read. */
static PyObject *code_here(void)
{
	PyObject *code = frames_argument("code");

	return code && code->type == py.CodeType ? code : NULL;
}

/*
 * What PyTorch, from 2.2 on, puts down for itself while it compiles a function again: of each way
 * in which it was compiled before, newest first, what the guards refused.  Borrowed, NULL where
 * there is nothing.  To find a code object in a dict runs no Python code.
 */
static PyObject *failures_of(PyObject *code)
{
	PyObject *all = code ? py_held("torch._dynamo.utils", "guard_failures") : NULL;

	return all && py_is(all, py.DictType) ? py.Dict_Get(all, code) : NULL;
}

/* Once for each graph: what is compiled again for other arguments comes again. */
static void compile_begins(struct ring *r)
{
	static PyObject *name;
	PyObject *type, *value, *traceback, *code, *failures;
	struct args args = { 0 };
	ssize_t known = 0;
	uint32_t *note;

	py.Err_Fetch(&type, &value, &traceback);
	code = code_here();
	for (size_t i = 0; code && i < sizeof(compiled) / sizeof(compiled[0]); i++) {
		PyObject *fact = py.GetAttr(code, compiled[i].attribute);

		if (fact)
			put_fact(&args, compiled[i].key, fact);
		py_drop(fact);
	}
	failures = failures_of(code);
	if (failures)
		known = py.List_Size(failures);
	adapter_scope_begin(r, text_for_ever(&name, TORCH_COMPILE), &args);
	note = adapter_scope_note(r);
	if (note)
		*note = known > 0 ? (uint32_t)known : 0;
	py.Err_Clear();
	py.Err_Restore(type, value, traceback);
}

static void compile_ends(struct ring *r)
{
	const uint32_t *known = adapter_scope_note(r);
	PyObject *type, *value, *traceback, *failures, *reason = NULL;
	struct args args = { 0 };

	py.Err_Fetch(&type, &value, &traceback);
	failures = known ? failures_of(code_here()) : NULL;
	if (failures && py.List_Size(failures) > (ssize_t)*known)
		reason = py.List_GetItem(failures, (ssize_t)*known);
	if (reason && py_is(reason, py.UnicodeType))
		put_fact(&args, TORCH_COMPILE_REASON, reason);
	adapter_scope_end_with(r, &args);
	py.Err_Clear();
	py.Err_Restore(type, value, traceback);
}

/* Not a layer: a graph may be made of several, or of a part of one. */
static void graph_begins(struct ring *r)
{
	static PyObject *name;

	adapter_scope_begin(r, text_for_ever(&name, TORCH_GRAPH), NULL);
}

static const struct adapter_function functions[] = {
	{ .file = "torch/nn/modules/module.py",
	  .name = "Module._wrapped_call_impl",
	  .begins = module_begins,
	  .ends = module_ends,
	  .calls_modules = true,
	  .rests = &layer_folds.unheard },
	{ .file = "torch/utils/data/dataloader.py",
	  .name = "_MultiProcessingDataLoaderIter._get_data",
	  .begins = wait_begins,
	  .ends = adapter_scope_end },
	{ .file = "torch/utils/data/_utils/fetch.py",
	  .name = "_MapDatasetFetcher.fetch",
	  .begins = load_begins,
	  .ends = adapter_scope_end },
	{ .file = "torch/utils/data/_utils/fetch.py",
	  .name = "_IterableDatasetFetcher.fetch",
	  .begins = load_begins,
	  .ends = adapter_scope_end },
	{ .file = "torch/_dynamo/convert_frame.py",
	  .name = "_compile",
	  .begins = compile_begins,
	  .ends = compile_ends },
	{ .file = "torch/_inductor/output_code.py",
	  .name = "CompiledFxGraph.__call__",
	  .begins = graph_begins,
	  .ends = adapter_scope_end },
	/* Until 2.5. */
	{ .file = "torch/_inductor/codecache.py",
	  .name = "CompiledFxGraph.__call__",
	  .begins = graph_begins,
	  .ends = adapter_scope_end },
	/* Once in a process; 1.13 to 2.13 have it. */
	{ .file = "torch/cuda/__init__.py",
	  .name = "_check_capability",
	  .begins = torch_memory_expect },
};

static const struct adapter_passage passages[] = {
	{ "torch/nn/modules/module.py", "Module._call_impl" },
	{ "torch/nn/modules/module.py", "Module._call_impl.<locals>.inner" },
};

const struct adapter adapter_torch = {
	functions, sizeof(functions) / sizeof(functions[0]),
	passages,  sizeof(passages) / sizeof(passages[0]),
	forward,
};
