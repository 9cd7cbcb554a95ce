#include "agent/torch/torch_hooks.h"

#include <string.h>

#include "agent/overhead/budget.h"
#include "agent/python/text.h"
#include "agent/torch/layers.h"
#include "agent/torch/torch_memory.h"

#define MODULE "torch.nn.modules.module"
#define COMPILER "torch._dynamo"

bool torch_hooks_audit;
static bool audited, wanted;

static PyObject *before_forward(PyObject *self, PyObject *const *args, ssize_t n)
{
	struct ring *r = session_ring();

	(void)self;
	if (r && n > 0) {
		layers_begin(r, args[0], &torch_modules);
		budget_count(r, 1);
	}
	return py_new_ref(py.None);
}

static PyObject *after_forward(PyObject *self, PyObject *const *args, ssize_t n)
{
	struct ring *r = session_ring();

	(void)self;
	if (r && n > 0) {
		layers_end(r, args[0]);
		torch_memory_poll_seldom(r);
		budget_count(r, 1);
	}
	return py_new_ref(py.None);
}

static struct py_method before = { "inferscope", (py_function)(void (*)(void))before_forward,
				   PY_FAST, NULL };
static struct py_method after = { "inferscope", (py_function)(void (*)(void))after_forward, PY_FAST,
				  NULL };

/* Ordered dicts of PyTorch's; our key is a text, all others are numbers. */
static const struct {
	const char *dict;
	struct py_method *function; /* NULL: True is put there */
	bool optional;
} hooks[] = {
	/* Where it exists, the function behind is called after an exception as well. */
	{ "_global_forward_hooks_always_called", NULL, true },
	{ "_global_forward_hooks", &after, false },
	{ "_global_forward_pre_hooks", &before, false },
};

#define HOOKS (sizeof(hooks) / sizeof(hooks[0]))

static bool is_loaded(const char *module)
{
	return py_module(module) != NULL;
}

/* PyTorch's dict of this name, a new reference; NULL: it has none, or not yet. */
static PyObject *find_dict(const char *name)
{
	PyObject *module = py_module(MODULE);
	PyObject *dict = module ? py.GetAttr(module, name) : NULL;

	if (dict && !py_is(dict, py.DictType)) {
		py_drop(dict);
		dict = NULL;
	}
	py.Err_Clear();
	return dict;
}

static bool put(PyObject *dict, PyObject *key, struct py_method *function)
{
	PyObject *value = function ? py.CFunction(function, NULL, NULL) : py_new_ref(py.True);
	bool done = value && !py.SetItem(dict, key, value);

	py_drop(value);
	py.Err_Clear();
	return done;
}

static void take_away(void)
{
	PyObject *key = py.Unicode_Intern("inferscope");

	for (size_t i = HOOKS; key && i-- > 0;) {
		PyObject *dict = find_dict(hooks[i].dict);

		if (dict && py.DelItem(dict, key))
			py.Err_Clear(); /* the program has emptied it */
		py_drop(dict);
	}
	py_drop(key);
	torch_hooks_audit = false;
}

static void hook_in(void)
{
	PyObject *key = py.Unicode_Intern("inferscope");
	bool done = key;

	for (size_t i = 0; done && i < HOOKS; i++) {
		PyObject *dict = find_dict(hooks[i].dict);

		done = dict ? put(dict, key, hooks[i].function) : hooks[i].optional;
		py_drop(dict);
	}
	py_drop(key);
	torch_hooks_audit = done;
	if (!done)
		take_away();
}

static void give_up(enum shm_layers why)
{
	struct shm_process *self = session_process();

	if (torch_hooks_audit)
		take_away();
	wanted = false;
	if (self)
		atomic_store_explicit(&self->layers_given_up, why, memory_order_relaxed);
}

/* PyTorch has defined its modules. */
static void found(void)
{
	if (budget_bounded())
		give_up(SHM_LAYERS_BOUNDED);
	else
		hook_in();
}

/* About to import a module of this name. */
static void check_import(const struct text *name)
{
	static const size_t n = sizeof(COMPILER) - 1;

	if (name->bytes >= n && !memcmp(name->data, COMPILER, n) &&
	    (name->bytes == n || name->data[n] == '.'))
		give_up(SHM_LAYERS_COMPILED);
	else if (!torch_hooks_audit && name->bytes > 6 && !memcmp(name->data, "torch.", 6) &&
		 is_loaded(MODULE))
		found();
}

static int on_audit(const char *event, PyObject *args, void *data)
{
	PyObject *type, *value, *traceback;
	struct text name;

	(void)data;
	if (!wanted || strcmp(event, "import") != 0 || !session_on())
		return 0;
	py.Err_Fetch(&type, &value, &traceback);
	name = text_of(py.Tuple_GetItem(args, 0), 256);
	check_import(&name);
	text_release(&name);
	py.Err_Restore(type, value, traceback);
	return 0;
}

void torch_hooks_start(void)
{
	wanted = true;
	/* It stays for the life of the process: there is no way to take one away. */
	if (!audited)
		audited = !py.AuditHook_Add(on_audit, NULL);
	py.Err_Clear();
	if (is_loaded(COMPILER))
		give_up(SHM_LAYERS_COMPILED);
	else if (is_loaded(MODULE))
		found();
}

void torch_hooks_stop(void)
{
	wanted = false;
	if (torch_hooks_audit)
		take_away();
}
