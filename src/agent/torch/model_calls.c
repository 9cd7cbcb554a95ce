#include "agent/torch/model_calls.h"

#include <string.h>

#include "agent/core/session.h"
#include "agent/overhead/budget.h"
#include "agent/python/frames.h"
#include "agent/python/tasks.h"
#include "agent/python/text.h"
#include "base/varint.h"
#include "format/request_scopes.h"

#define MODULE "torch.nn.modules.module"

#define NAMED_TYPES 64u
#define TRIES_MOST 1000u       /* to find outer modules: each takes microseconds */
#define FIND_EACH_NS 50000000u /* some hundred types take a part of a millisecond */
#define FIND_MOST_NS 2000000u  /* what took longer was interrupted */
#define DEEPEST 16u            /* classes derived from each other */

/* Parts that are modules, but prepare data. */
static const char *const preparing[] = { "torchvision.transforms", "torchaudio.transforms",
					 "kornia.augmentation", "torch.nn.modules.loss" };

/* Of a type object, since Python 3.0; compared with what PyType_GetSlot() says before use. */
#define CALL_SLOT 128u

typedef PyObject *(*call_function)(PyObject *self, PyObject *args, PyObject *keywords);

static call_function original; /* that the types of all modules have; NULL: none was seen */
static __thread unsigned depth;
static uint64_t found_ns; /* CLOCK_MONOTONIC: all types were searched */

/* Names of scopes, by type; a type may be freed, and another one get its address. */
static struct named_type {
	const PyObject *type;
	const char *type_name;
	PyObject *scope; /* owned */
} named_types[NAMED_TYPES];

static PyObject *call_model(PyObject *self, PyObject *args, PyObject *keywords);

static call_function *slot_of(PyObject *type)
{
	return (call_function *)(void *)((char *)type + CALL_SLOT);
}

/* "model: ResNet"; borrowed, NULL where there is no memory. */
static PyObject *name_of(PyObject *type)
{
	struct named_type *n = &named_types[((uintptr_t)type >> 4) % NAMED_TYPES];
	const char *name = py_type_name(type), *dot = name ? strrchr(name, '.') : NULL;

	if (n->type == type && n->type_name == name && n->scope)
		return n->scope;
	py_drop(n->scope);
	*n = (struct named_type){ type, name,
				  py.Unicode_Format(MODEL_SCOPES "%.200s", dot    ? dot + 1
									   : name ? name
										  : "?") };
	return n->scope;
}

/* 0: it is not recorded. */
static uint64_t begin(struct ring *r, PyObject *type, uint32_t *name_id)
{
	uint8_t payload[2 * VARINT_MAX];
	PyObject *name = name_of(type);
	uint64_t instance;
	size_t n;

	py.Err_Clear();
	if (!name)
		return 0;
	instance = session_next_instance(r);
	*name_id = names_id(r, name);
	n = varint_put(payload, instance);
	n += varint_put(payload + n, tasks_current());
	ring_push_payload(r, RECORD_SCOPE_BEGIN, *name_id, payload, (uint32_t)n);
	budget_count(r, 1);
	return instance;
}

static void end(struct ring *r, uint64_t instance, uint32_t name_id)
{
	uint8_t payload[VARINT_MAX];

	ring_push_payload(r, RECORD_SCOPE_END, name_id, payload,
			  (uint32_t)varint_put(payload, instance));
	budget_count(r, 1);
}

/* The code of the method that every call of a module goes through; NULL: unknown. */
static PyObject *passage(void)
{
	static PyObject *code;
	PyObject *module, *method;

	if (code)
		return code;
	module = py_held(MODULE, "Module");
	method = module ? py.GetAttr(module, "_call_impl") : NULL;
	code = method ? py.GetAttr(method, "__code__") : NULL;
	py_drop(method);
	py.Err_Clear();
	return code;
}

/* The module that a frame of that code calls: watched from now on. */
static void hook_outermost(PyObject *code)
{
	PyObject *frame = py.Frame_Now(), *outermost = NULL, *locals, *module;

	frame = frame ? py_new_ref(frame) : NULL;
	while (frame && frame != py.None) {
		PyObject *back = py.GetAttr(frame, "f_back"), *own = py.GetAttr(frame, "f_code");

		if (own == code) {
			py_drop(outermost);
			outermost = py_new_ref(frame);
		}
		py_drop(own);
		py_drop(frame);
		frame = back;
	}
	py_drop(frame);
	locals = outermost ? py.GetAttr(outermost, "f_locals") : NULL;
	module = locals && py_is(locals, py.DictType) ? py.Dict_GetString(locals, "self") : NULL;
	if (module)
		model_calls_hook(module->type);
	py_drop(locals);
	py_drop(outermost);
	py.Err_Clear();
}

/*
 * Is a module around this call whose type is not watched yet?  A class may be made at any time;
 * what it calls is a part of it, and no model.
 */
static bool lies_in_module(void)
{
	static unsigned tries;
	PyObject *code = passage();
	struct frame_ref frames[FRAMES_MAX];
	size_t n = code ? frames_read(frames) : 0;

	for (size_t i = 0; i < n; i++) {
		if (frames[i].code != code)
			continue;
		if (tries < TRIES_MOST) {
			tries++;
			hook_outermost(code);
		}
		return true;
	}
	return false;
}

static PyObject *call_model(PyObject *self, PyObject *args, PyObject *keywords)
{
	struct ring *r = depth ? NULL : session_ring();
	uint32_t epoch = session_epoch, name_id = 0;
	uint64_t instance = r && !lies_in_module() ? begin(r, self->type, &name_id) : 0;
	PyObject *result;

	depth++;
	result = original(self, args, keywords);
	depth--;
	/* A fork, or another recording, has rings of its own. */
	r = instance && session_epoch == epoch ? session_ring() : NULL;
	if (r)
		end(r, instance, name_id);
	return result;
}

/* What all modules inherit; a new reference. */
static PyObject *inherited_call(void)
{
	PyObject *module = py_held(MODULE, "Module");
	PyObject *call = module ? py.GetAttr(module, "__call__") : NULL;

	py.Err_Clear();
	return call;
}

static bool prepares(PyObject *type)
{
	PyObject *module = py.GetAttr(type, "__module__");
	struct text t = text_of(module, 128);
	bool found = false;

	for (size_t i = 0; i < sizeof(preparing) / sizeof(preparing[0]); i++) {
		size_t n = strlen(preparing[i]);

		found |= t.bytes >= n && !memcmp(t.data, preparing[i], n);
	}
	text_release(&t);
	py_drop(module);
	py.Err_Clear();
	return found;
}

/* Python's own slot function, which finds the method by name: no other is replaced. */
static bool may_be_replaced(PyObject *type)
{
	call_function now = *slot_of(type);
	PyObject *call = NULL, *inherited = NULL;
	bool may = now && now != call_model && (!original || now == original) &&
		   py.Type_GetSlot(type, PY_TP_CALL) == (void *)now;

	if (may) {
		call = py.GetAttr(type, "__call__");
		inherited = inherited_call();
		may = call && call == inherited && call->type == py.FunctionType && !prepares(type);
	}
	py_drop(call);
	py_drop(inherited);
	py.Err_Clear();
	return may;
}

void model_calls_hook(PyObject *type)
{
	if (py.version >= 0x030c0000 || !budget_bounded() || *slot_of(type) == call_model ||
	    !may_be_replaced(type))
		return;
	original = *slot_of(type);
	*slot_of(type) = call_model;
}

static void hook_subclasses(PyObject *type, unsigned left)
{
	PyObject *function = left ? py.GetAttr(type, "__subclasses__") : NULL;
	PyObject *list = function ? py.Call(function, NULL) : NULL;
	ssize_t n = list ? py.List_Size(list) : 0;

	for (ssize_t i = 0; i < n; i++) {
		PyObject *inner = py.List_GetItem(list, i);

		model_calls_hook(inner);
		hook_subclasses(inner, left - 1);
	}
	py_drop(list);
	py_drop(function);
	py.Err_Clear();
}

void model_calls_find(void)
{
	uint64_t now_ns;
	PyObject *module;

	if (py.version >= 0x030c0000 || !budget_bounded())
		return;
	now_ns = stamp_monotonic();
	if (now_ns - found_ns < FIND_EACH_NS)
		return;
	module = py_held(MODULE, "Module");
	if (module)
		hook_subclasses(module, DEEPEST);
	found_ns = stamp_monotonic();
	if (module)
		budget_spend_ns(found_ns - now_ns < FIND_MOST_NS ? found_ns - now_ns
								 : FIND_MOST_NS);
}
