/*
 * PyTorch: the modules of a model as layers.
 *
 * From 3.12 on modules are seen by the function that calls them, and PyTorch has nothing of
 * ours in it: torch.compile, torch.export, torch.fx, torch.jit, pickle and copy find what
 * they always find.  Before, torch_hooks.h is what tells, until torch.compile is used.
 */
#include "agent/adapter_torch.h"

#include "agent/adapter.h"
#include "agent/frames.h"
#include "agent/layers.h"

/* nn.Module keeps its parts in a dict that it has under this name. */
static PyObject *parts_of(PyObject *module)
{
	static PyObject *key;
	PyObject *attributes = py.Object_Dict(module, NULL), *parts = NULL;

	if (!key)
		key = py.Unicode_Intern("_modules");
	if (attributes && key && py_is(attributes, py.DictType))
		parts = py.Dict_Get(attributes, key);
	if (parts)
		parts = py_is(parts, py.DictType) ? py_new_ref(parts) : NULL;
	py_drop(attributes);
	py.Err_Clear();
	return parts;
}

const struct layer_kind torch_modules = { parts_of };

static void module_begins(struct ring *r)
{
	PyObject *module = torch_hooks_tell ? NULL : frames_argument("self");

	if (module)
		layers_begin(r, module, &torch_modules);
}

static void module_ends(struct ring *r)
{
	if (!torch_hooks_tell)
		layers_end_here(r);
}

static const struct adapter_function functions[] = {
	{ "torch/nn/modules/module.py", "Module._wrapped_call_impl", module_begins, module_ends },
};

const struct adapter adapter_torch = { functions, sizeof(functions) / sizeof(functions[0]) };
