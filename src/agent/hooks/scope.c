/*
 * The object behind `with scope("step", batch=8):`.
 *
 * Most programs that contain scopes are not being recorded: then a scope is one
 * object from a free list and two calls that read two flags.  scope is a
 * function, not the type, because calling a type costs as much as all the rest.
 *
 * A scope records its begin and end with an instance number, so that they are
 * paired whatever runs in between, and with the asyncio task it was opened in.
 * One object may be entered again before it is left, in other tasks too: it
 * keeps a list of what is open.
 */
#include "agent/hooks/hooks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core/session.h"
#include "agent/overhead/budget.h"
#include "agent/python/args.h"
#include "agent/python/tasks.h"
#include "agent/python/text.h"
#include "agent/torch/torch_memory.h"
#include "base/varint.h"

#define FREE_LIST_MAX 64

struct open {
	uint64_t instance; /* 0: not in use */
	uint64_t task;
	uint32_t epoch; /* the recording it was opened in */
	uint32_t name_id;
	struct open *outer;
};

struct scope {
	PyObject head;
	PyObject *name;
	struct open open;   /* the first one */
	struct open *inner; /* those entered while it was in use, newest first */
	uint8_t *args;
	uint32_t args_bytes;
};

/* What `async with` awaits: finished before it began. */
struct finished {
	PyObject head;
	PyObject *value;
};

static PyObject *scope_type, *finished_type;
static struct scope *free_list[FREE_LIST_MAX];
static unsigned free_count;

/* Takes over the reference to the name. */
static struct scope *scope_alloc(PyObject *name)
{
	struct scope *s =
		free_count ? free_list[--free_count] : py.Object_Malloc(sizeof(struct scope));

	if (!s) {
		py_drop(name);
		return NULL;
	}
	py.Object_Init(&s->head, scope_type);
	s->name = name;
	s->open.instance = 0;
	s->inner = NULL;
	s->args = NULL;
	s->args_bytes = 0;
	return s;
}

static void scope_dealloc(PyObject *self)
{
	struct scope *s = (struct scope *)self;
	PyObject *type = self->type;

	py_drop(s->name);
	free(s->args);
	while (s->inner) {
		struct open *o = s->inner;

		s->inner = o->outer;
		free(o);
	}
	if (free_count < FREE_LIST_MAX)
		free_list[free_count++] = s;
	else
		py.Object_Free(s);
	py_drop(type);
}

/*
 * The name as a new reference to a plain str: one of a derived class, such as a
 * member of an enumeration of texts, may hash and compare by code of its own.
 */
static PyObject *take_name(PyObject *const *args, ssize_t n, const char *complaint)
{
	if (n == 1 && args[0]->type == py.UnicodeType)
		return py_new_ref(args[0]);
	if (n == 1 && py_is(args[0], py.UnicodeType))
		return py.Unicode_Plain(args[0]);
	py.Err_SetString(py.TypeError, complaint);
	return NULL;
}

static bool copy_args(struct scope *s, const uint8_t *data, uint32_t bytes)
{
	if (!bytes)
		return true;
	s->args = malloc(bytes);
	if (!s->args)
		return false;
	memcpy(s->args, data, bytes);
	s->args_bytes = bytes;
	return true;
}

PyObject *scope_new(PyObject *module, PyObject *const *args, ssize_t n, PyObject *names)
{
	PyObject *name =
		take_name(args, n, "scope() takes one name, a str, and metadata as key=value");
	struct scope *s = name ? scope_alloc(name) : NULL;

	(void)module;
	if (s && names) {
		struct args encoded;

		args_encode(&encoded, names, args + n);
		copy_args(s, encoded.data,
			  encoded.bytes); /* out of memory: the scope goes without */
	}
	return s ? &s->head : NULL;
}

static struct open *open_slot(struct scope *s)
{
	struct open *o;

	if (!s->open.instance)
		return &s->open;
	o = malloc(sizeof(*o));
	if (o) {
		o->outer = s->inner;
		s->inner = o;
	}
	return o;
}

static void enter(struct scope *s)
{
	struct ring *r = session_ring();
	uint8_t payload[2 * VARINT_MAX + ARGS_MAX_BYTES];
	struct open *o;
	size_t n;

	if (!r)
		return;
	o = open_slot(s);
	if (!o)
		return;
	o->instance = session_next_instance(r);
	o->task = tasks_current();
	o->epoch = session_epoch;
	o->name_id = names_id(r, s->name);
	n = varint_put(payload, o->instance);
	n += varint_put(payload + n, o->task);
	if (s->args_bytes)
		memcpy(payload + n, s->args, s->args_bytes);
	ring_push_payload(r, RECORD_SCOPE_BEGIN, o->name_id, payload, (uint32_t)n + s->args_bytes);
	budget_count(r, 1);
}

/* Takes the newest one that this task has open, or else the newest at all, out of the list. */
static struct open close_slot(struct scope *s)
{
	struct open none = { 0 }, taken;
	struct open **at;
	uint64_t task;

	if (!s->inner) {
		taken = s->open;
		s->open.instance = 0;
		return taken;
	}
	task = tasks_current();
	for (at = &s->inner; *at && (*at)->task != task; at = &(*at)->outer)
		;
	if (!*at && s->open.instance && s->open.task == task) {
		taken = s->open;
		s->open.instance = 0;
		return taken;
	}
	if (!*at)
		at = &s->inner;
	if (*at) {
		struct open *o = *at;

		taken = *o;
		*at = o->outer;
		free(o);
		return taken;
	}
	return none;
}

static void exit_scope(struct scope *s)
{
	struct open o;
	struct ring *r;
	uint8_t payload[VARINT_MAX];

	if (!s->open.instance && !s->inner) /* entered while nothing was recorded */
		return;
	o = close_slot(s);
	r = session_ring();
	if (!r || !o.instance || o.epoch != session_epoch)
		return;
	ring_push_payload(r, RECORD_SCOPE_END, o.name_id, payload,
			  (uint32_t)varint_put(payload, o.instance));
	budget_count(r, 1);
	torch_memory_poll_seldom(r);
}

static PyObject *scope_enter(PyObject *self, PyObject *unused)
{
	(void)unused;
	if (session_on())
		enter((struct scope *)self);
	return py_new_ref(self);
}

static PyObject *scope_exit(PyObject *self, PyObject *const *args, ssize_t n)
{
	(void)args;
	(void)n;
	exit_scope((struct scope *)self);
	return py_new_ref(py.None);
}

static PyObject *finished_new(PyObject *value)
{
	struct finished *f = py.Object_Malloc(sizeof(*f));

	if (!f)
		return NULL;
	py.Object_Init(&f->head, finished_type);
	f->value = py_new_ref(value);
	return &f->head;
}

static void finished_dealloc(PyObject *self)
{
	PyObject *type = self->type;

	py_drop(((struct finished *)self)->value);
	py.Object_Free(self);
	py_drop(type);
}

static PyObject *finished_await(PyObject *self)
{
	return py_new_ref(self);
}

static PyObject *finished_next(PyObject *self)
{
	py.Err_SetObject(py.StopIteration, ((struct finished *)self)->value);
	return NULL;
}

static PyObject *scope_async_enter(PyObject *self, PyObject *unused)
{
	(void)unused;
	enter((struct scope *)self);
	return finished_new(self);
}

static PyObject *scope_async_exit(PyObject *self, PyObject *const *args, ssize_t n)
{
	(void)args;
	(void)n;
	exit_scope((struct scope *)self);
	return finished_new(py.None);
}

/* A new scope with the same name and metadata: one for each call of a decorated function. */
static PyObject *scope_again(PyObject *self, PyObject *unused)
{
	struct scope *s = (struct scope *)self;
	struct scope *fresh = scope_alloc(py_new_ref(s->name));

	(void)unused;
	if (fresh)
		copy_args(fresh, s->args, s->args_bytes);
	return fresh ? &fresh->head : NULL;
}

/* scope(...)(function): the wrapping is done in Python, where it is written once for all kinds. */
static PyObject *scope_call(PyObject *self, PyObject *args, PyObject *keywords)
{
	PyObject *module, *wrap, *result = NULL;

	if (keywords || py.Tuple_Size(args) != 1) {
		py.Err_SetString(py.TypeError, "a scope used as a decorator takes one function");
		return NULL;
	}
	module = py.Import("inferscope._decorate");
	wrap = module ? py.GetAttr(module, "wrap") : NULL;
	if (wrap)
		result = py.CallWith(wrap, self, py.Tuple_GetItem(args, 0), NULL);
	py_drop(module);
	py_drop(wrap);
	return result;
}

static PyObject *scope_repr(PyObject *self)
{
	return py.Unicode_Format("<inferscope.scope %R>", ((struct scope *)self)->name);
}

static PyObject *scope_get_name(PyObject *self, void *closure)
{
	(void)closure;
	return py_new_ref(((struct scope *)self)->name);
}

static PyObject *scope_refuse_new(PyObject *type, PyObject *args, PyObject *keywords)
{
	(void)type;
	(void)args;
	(void)keywords;
	py.Err_SetString(py.TypeError, "scopes are made by inferscope.scope(name)");
	return NULL;
}

PyObject *scope_mark_event(PyObject *module, PyObject *const *args, ssize_t n, PyObject *names)
{
	PyObject *name =
		take_name(args, n, "mark_event() takes one name, a str, and metadata as key=value");
	struct ring *r = session_ring();

	(void)module;
	if (!name)
		return NULL;
	if (r) {
		uint8_t payload[VARINT_MAX + ARGS_MAX_BYTES];
		size_t bytes = varint_put(payload, tasks_current());

		if (names) {
			struct args encoded;

			args_encode(&encoded, names, args + n);
			memcpy(payload + bytes, encoded.data, encoded.bytes);
			bytes += encoded.bytes;
		}
		ring_push_payload(r, RECORD_MARK, names_id(r, name), payload, (uint32_t)bytes);
		budget_count(r, 1);
	}
	py_drop(name);
	return py_new_ref(py.None);
}

/*
 * Numbers of Python's own types: to ask anything else for its value may run any
 * code (a tensor's waits for the GPU), and would do so in a recording only.
 */
PyObject *scope_counter(PyObject *module, PyObject *const *args, ssize_t n)
{
	bool sound = n == 2 && (py_is(args[1], py.LongType) || py_is(args[1], py.FloatType));
	PyObject *name =
		take_name(args, sound ? 1 : 0,
			  "counter() takes a name, a str, and a number, an int or a float");
	struct ring *r = session_ring();

	(void)module;
	if (!name)
		return NULL;
	if (r) {
		double value = py_is(args[1], py.LongType) ? py.Long_AsDouble(args[1])
							   : py.Float_As(args[1]);

		if (py.Err_Occurred()) { /* an int beyond all floats */
			py.Err_Clear();
			value = NAN;
		}
		ring_push_payload(r, RECORD_COUNTER, names_id(r, name), &value, sizeof(value));
		budget_count(r, 1);
	}
	py_drop(name);
	return py_new_ref(py.None);
}

#define FUNCTION(f) ((py_function)(void (*)(void))(f))

static struct py_method scope_methods[] = {
	{ "__enter__", scope_enter, PY_NO_ARGS, NULL },
	{ "__exit__", FUNCTION(scope_exit), PY_FAST, NULL },
	{ "__aenter__", scope_async_enter, PY_NO_ARGS, NULL },
	{ "__aexit__", FUNCTION(scope_async_exit), PY_FAST, NULL },
	{ "_again", scope_again, PY_NO_ARGS, NULL },
	{ 0 },
};

static struct py_getset scope_getset[] = {
	{ "name", scope_get_name, NULL, "the name of the scope", NULL },
	{ 0 },
};

static struct py_slot scope_slots[] = {
	{ PY_TP_DEALLOC, (void *)scope_dealloc },
	{ PY_TP_METHODS, scope_methods },
	{ PY_TP_GETSET, scope_getset },
	{ PY_TP_CALL, (void *)scope_call },
	{ PY_TP_REPR, (void *)scope_repr },
	{ PY_TP_NEW, (void *)scope_refuse_new },
	{ 0, NULL },
};

static struct py_type_spec scope_spec = {
	"inferscope.Scope", sizeof(struct scope), 0, PY_TPFLAGS_DEFAULT, scope_slots,
};

static struct py_slot finished_slots[] = {
	{ PY_TP_DEALLOC, (void *)finished_dealloc },
	{ PY_AM_AWAIT, (void *)finished_await },
	{ PY_TP_ITERNEXT, (void *)finished_next },
	{ PY_TP_NEW, (void *)scope_refuse_new },
	{ 0, NULL },
};

static struct py_type_spec finished_spec = {
	"inferscope._Finished", sizeof(struct finished), 0, PY_TPFLAGS_DEFAULT, finished_slots,
};

int scope_init(void)
{
	if (!scope_type)
		scope_type = py.Type_FromSpec(&scope_spec);
	if (!finished_type)
		finished_type = py.Type_FromSpec(&finished_spec);
	return scope_type && finished_type ? 0 : -1;
}
