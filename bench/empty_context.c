/*
 * The ruler for scope(): the least that a context manager written in C can do.
 * A Python extension built like the agent, without Python's headers.
 */
#include "agent/python/pyapi.h"

__attribute__((visibility("default"))) PyObject *PyInit_empty_context(void);

static void empty_dealloc(PyObject *self)
{
	PyObject *type = self->type;

	py.Object_Free(self);
	py_drop(type);
}

static PyObject *empty_enter(PyObject *self, PyObject *unused)
{
	(void)unused;
	return py_new_ref(self);
}

static PyObject *empty_exit(PyObject *self, PyObject *const *args, ssize_t n)
{
	(void)self;
	(void)args;
	(void)n;
	return py_new_ref(py.None);
}

static struct py_method methods[] = {
	{ "__enter__", empty_enter, PY_NO_ARGS, NULL },
	{ "__exit__", (py_function)(void (*)(void))empty_exit, PY_FAST, NULL },
	{ 0 },
};

static struct py_slot slots[] = {
	{ PY_TP_DEALLOC, (void *)empty_dealloc },
	{ PY_TP_METHODS, methods },
	{ 0, NULL },
};

static struct py_type_spec spec = {
	"empty_context.Empty", sizeof(PyObject), 0, PY_TPFLAGS_DEFAULT, slots,
};

static struct py_module_def definition = {
	.head = { 1, NULL },
	.name = "empty_context",
	.size = -1,
};

PyObject *PyInit_empty_context(void)
{
	PyObject *module, *type;

	if (pyapi_load(__builtin_return_address(0)))
		return NULL;
	module = py.Module_Create(&definition, PY_ABI_VERSION);
	type = py.Type_FromSpec(&spec);
	if (module && type)
		py.SetAttr(module, "Empty", type);
	return module;
}
