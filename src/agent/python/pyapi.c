/* Fills the table of Python functions; see pyapi.h. */
#include "agent/python/pyapi.h"

#include <dlfcn.h>
#include <stdlib.h>

struct pyapi py;

/*
 * The symbols are usually global (the executable exports them or links
 * libpython); a host that loaded libpython privately needs its handle.
 */
static void *find(void *library, const char *symbol)
{
	void *found = dlsym(RTLD_DEFAULT, symbol);

	return found || !library ? found : dlsym(library, symbol);
}

static bool find_object(void *library, PyObject **out, const char *symbol, bool pointer)
{
	void *found = find(library, symbol);

	if (!found)
		return false;
	*out = pointer ? *(PyObject **)found : found;
	return true;
}

/* 0x030c0100 of "3.12.1 (main, ...)" */
static uint32_t parse_version(const char *text)
{
	uint32_t version = 0;

	for (int part = 0; part < 3; part++) {
		char *end;

		version = version << 8 | (uint32_t)(strtoul(text, &end, 10) & 0xff);
		text = *end == '.' ? end + 1 : end;
	}
	return version << 8;
}

uint32_t pyapi_version_here(void)
{
	const char *(*version)(void) = NULL;

	*(void **)&version = find(NULL, "Py_GetVersion");
	return version ? parse_version(version()) : 0;
}

int pyapi_load(const void *inside)
{
	void *library = NULL;
	bool complete = true;
	Dl_info info;

	if (py.version)
		return 0;
	if (dladdr(inside, &info) && info.dli_fname)
		library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
#define LOAD(type, name, symbol, args)              \
	*(void **)&py.name = find(library, symbol); \
	complete &= py.name != NULL;
	PYAPI_REQUIRED(LOAD)
#undef LOAD
#define LOAD(type, name, symbol, older, args)       \
	*(void **)&py.name = find(library, symbol); \
	if (!py.name && (const char *)older)        \
		*(void **)&py.name = find(library, older);
	PYAPI_OPTIONAL(LOAD)
#undef LOAD
#define LOAD(name, symbol, pointer) complete &= find_object(library, &py.name, symbol, pointer);
	PYAPI_OBJECTS(LOAD)
#undef LOAD
	py.Runtime = find(library, "_PyRuntime");
	if (library)
		dlclose(library);
	if (!complete)
		return -1;
	py.version = parse_version(py.GetVersion());
	return 0;
}

PyObject *py_call_sys(const char *name)
{
	PyObject *sys = py.Import("sys");
	PyObject *function = sys ? py.GetAttr(sys, name) : NULL;
	PyObject *result = function ? py.Call(function, NULL) : NULL;

	py_drop(function);
	py_drop(sys);
	return result;
}

PyObject *py_modules(void)
{
	return py.IsFinalizing && py.IsFinalizing() ? NULL : py.ImportedModules();
}

PyObject *py_module(const char *name)
{
	PyObject *modules = py_modules();

	return modules ? py.Dict_GetString(modules, name) : NULL;
}

PyObject *py_current_frame(void)
{
	return py_call_sys("_getframe");
}

PyObject *py_held(const char *module_name, const char *name)
{
	PyObject *module = py_module(module_name), *found = NULL;
	PyObject *dict = module ? py.Object_Dict(module, NULL) : NULL;

	if (dict && py_is(dict, py.DictType))
		found = py.Dict_GetString(dict, name);
	py_drop(dict); /* the module keeps it */
	py.Err_Clear();
	return found;
}
