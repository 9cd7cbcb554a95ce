#include "agent/hooks/native_scopes.h"

#include <string.h>

#include "agent/core/session.h"
#include "agent/overhead/budget.h"
#include "agent/python/tasks.h"
#include "agent/python/text.h"
#include "base/varint.h"
#include "format/request_scopes.h"

#define SITES 4096u      /* a power of two: places that call native code */
#define SITE_NEAR 8u     /* that a place may have */
#define TRIED 3u         /* calls, before a place is judged */
#define SHORT_NS 100000u /* on average: nothing that takes so little is a step */
#define DEEPEST 8u       /* native calls inside each other; thread-local: see session.h */
#define NAME_MOST 200
#define HEAP_TYPE (1ul << 9) /* Py_TPFLAGS_HEAPTYPE */

/* A place in a function: by the function's id, which is never given again in a recording. */
struct site {
	uint32_t function, offset; /* 0: free */
	uint32_t epoch;            /* the recording that this is of */
	uint32_t name_id;
	const PyObject *callable; /* that it called last; compared, never used */
	uint64_t calls, total_ns;
};

static struct site sites[SITES];

/* What is open in a thread, outermost first. */
static __thread struct open_call {
	struct site *site;
	uint32_t function, offset, epoch, name_id;
	uint64_t instance, start_ns;
} open_calls[DEEPEST];
static __thread unsigned depth;

static struct {
	PyObject *monitoring, *disable; /* borrowed: they outlive us */
	PyObject *standard;             /* the names of modules that Python comes with */
	int tool;                       /* -1: not started */
	long calls;                     /* bit of the event */
} listening = { .tool = -1 };

/* Types of objects that are native functions, by the end of their names. */
static const char *const native_types[] = {
	"builtin_function_or_method",
	"method_descriptor",
	"cython_function_or_method",
	"fused_cython_function",
	"PjitFunction",
	"CompiledFunction",
	"nb_func",
	"nb_method",
	"nb_bound_method",
};

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !memcmp(text + n - m, end, m);
}

/*
 * Attributes of what a class statement made may run code of the program's.  Types of native modules
 * are static, or named with their module.
 */
static bool made_by_python(PyObject *type)
{
	return py.Type_Flags(type) & HEAP_TYPE && !strchr(py_type_name(type), '.');
}

static bool is_native(const PyObject *callable)
{
	const char *name = py_type_name(callable->type);

	if (!name || made_by_python(callable->type))
		return false;
	for (size_t i = 0; i < sizeof(native_types) / sizeof(*native_types); i++)
		if (ends_with(name, native_types[i]))
			return true;
	return false;
}

/* Is the module that a text names, if it is one, Python's own, or ours? */
static bool is_standard(PyObject *module)
{
	static const char own[] = "inferscope";
	struct text t;
	PyObject *top, *contains, *found;
	bool is;
	size_t n = 0;

	if (!module || !py_is(module, py.UnicodeType) || !listening.standard)
		return false;
	t = text_of(module, NAME_MOST);
	while (n < t.bytes && t.data[n] != '.')
		n++;
	is = n == sizeof(own) - 1 && !memcmp(t.data, own, n);
	top = is ? NULL : py.Unicode_Format("%.*s", (int)n, t.data);
	text_release(&t);
	contains = top ? py.GetAttr(listening.standard, "__contains__") : NULL;
	found = contains ? py.CallWith(contains, top, NULL) : NULL;
	is |= found == py.True;
	py_drop(top);
	py_drop(contains);
	py_drop(found);
	return is;
}

/*
 * The module of a method is its class's, that of an object which stands for a function of the
 * user's (compiled by JAX) its type's; a new reference, NULL: unknown.
 */
static PyObject *module_of(PyObject *callable)
{
	static const char *const owners[] = { "__objclass__", "__self__" };
	bool compiled = ends_with(py_type_name(callable->type), "PjitFunction") ||
			ends_with(py_type_name(callable->type), "CompiledFunction");
	PyObject *module = py.GetAttr(compiled ? callable->type : callable, "__module__");

	for (size_t i = 0; i < 2 && (!module || module == py.None); i++) {
		PyObject *owner = py.GetAttr(callable, owners[i]);
		/* Of an object its class: an attribute of its own may be anything. */
		PyObject *class = owner && i ? owner->type : owner;

		py_drop(module);
		module = class && !made_by_python(class->type) ? py.GetAttr(class, "__module__")
							       : NULL;
		py_drop(owner);
	}
	py.Err_Clear();
	return module;
}

/* The part of a module's name that is the package's; 0: it is none. */
static uint32_t package_bytes(const struct text *module)
{
	const char *dot = memchr(module->data, '.', module->bytes);

	return dot ? (uint32_t)(dot - module->data) : module->bytes;
}

/* "native: tokenizers.Tokenizer.encode"; a new reference, NULL: it is nothing to listen to. */
static PyObject *name_of(PyObject *callable)
{
	PyObject *module, *name, *scope = NULL;

	if (!is_native(callable))
		return NULL;
	module = module_of(callable);
	name = py.GetAttr(callable, "__qualname__");
	if (!name)
		name = py.GetAttr(callable, "__name__");
	if (name && py_is(name, py.UnicodeType) && module && py_is(module, py.UnicodeType) &&
	    !is_standard(module)) {
		struct text t = text_of(name, NAME_MOST);
		struct text m = text_of(module, NAME_MOST);

		scope = py.Unicode_Format(NATIVE_SCOPES "%.*s.%.*s", (int)package_bytes(&m), m.data,
					  (int)t.bytes, t.data);
		text_release(&t);
		text_release(&m);
	}
	py_drop(module);
	py_drop(name);
	py.Err_Clear();
	return scope;
}

/* What an object that stands for a method calls; a new reference. */
static PyObject *function_of(PyObject *callable)
{
	const char *type = py_type_name(callable->type);
	PyObject *function = NULL;

	if (type && !made_by_python(callable->type) &&
	    (!strcmp(type, "method") || !strcmp(type, "instancemethod")))
		function = py.GetAttr(callable, "__func__");
	py.Err_Clear();
	return function ? function : py_new_ref(callable);
}

static struct site *site_of(uint32_t function, uint32_t offset)
{
	uint64_t hash = ((uint64_t)function << 32 | offset) * 0x9e3779b97f4a7c15u;

	for (unsigned i = 0; i < SITE_NEAR; i++) {
		struct site *s = &sites[((hash >> 40) + i) & (SITES - 1)];

		if (s->epoch == session_epoch && s->function == function && s->offset == offset)
			return s;
		if (s->function && s->epoch == session_epoch)
			continue;
		*s = (struct site){ .function = function,
				    .offset = offset,
				    .epoch = session_epoch };
		return s;
	}
	return NULL;
}

/* NULL: not a function to record. */
static PyObject *callable_name(PyObject *callable)
{
	PyObject *function = function_of(callable);
	PyObject *name = name_of(function);

	py_drop(function);
	return name;
}

static bool is_short(const struct site *s)
{
	return s->calls >= TRIED && s->total_ns < SHORT_NS * s->calls;
}

static void begin(struct ring *r, struct site *s)
{
	struct open_call *o = &open_calls[depth];
	uint8_t payload[2 * VARINT_MAX];
	size_t n;

	if (depth && open_calls[depth - 1].epoch != session_epoch)
		depth = 0;
	o = &open_calls[depth++];
	*o = (struct open_call){ s,
				 s->function,
				 s->offset,
				 session_epoch,
				 s->name_id,
				 session_next_instance(r),
				 stamp_monotonic() };
	n = varint_put(payload, o->instance);
	n += varint_put(payload + n, tasks_current());
	ring_push_payload(r, RECORD_SCOPE_BEGIN, o->name_id, payload, (uint32_t)n);
	budget_count(r, 1);
}

static void end(struct ring *r, const struct open_call *o)
{
	uint8_t payload[VARINT_MAX];
	struct site *s = o->site;

	ring_push_payload(r, RECORD_SCOPE_END, o->name_id, payload,
			  (uint32_t)varint_put(payload, o->instance));
	budget_count(r, 1);
	if (s->function != o->function || s->offset != o->offset || s->epoch != o->epoch)
		return;
	s->calls++;
	s->total_ns += stamp_monotonic() - o->start_ns;
}

static const struct code_note *note_of(PyObject *code)
{
	const struct code_note *note =
		code->type == py.CodeType ? code_table_find(&codes_index, code) : NULL;

	return note && note->id && note->epoch == session_epoch ? note : NULL;
}

/* Arguments: the code object, the offset of the instruction, what it calls, its first argument. */
static PyObject *on_call(PyObject *self, PyObject *const *args, ssize_t n)
{
	const struct code_note *note = session_on() && n > 2 ? note_of(args[0]) : NULL;
	struct site *s = note ? site_of(note->id, (uint32_t)py.Long_As(args[1])) : NULL;
	PyObject *name;
	struct ring *r;

	(void)self;
	if (!s || is_short(s))
		return py_new_ref(listening.disable);
	if (s->callable != args[2] || !s->name_id) {
		name = callable_name(args[2]);
		s->callable = args[2];
		/* Only now a ring: a forked child that records nothing registers no process. */
		r = name ? session_ring() : NULL;
		s->name_id = r ? names_id(r, name) : 0;
		py_drop(name);
		if (name && !r)
			return py.None;
		if (!s->name_id)
			return py_new_ref(listening.disable);
	} else {
		r = session_ring();
	}
	if (r && depth < DEEPEST)
		begin(r, s);
	return py.None;
}

/* Those above it were left by an exception that nobody told of. */
static PyObject *on_end(PyObject *self, PyObject *const *args, ssize_t n)
{
	struct ring *r = depth ? session_ring() : NULL;
	const struct code_note *note = r && n > 1 ? note_of(args[0]) : NULL;
	uint32_t offset = note ? (uint32_t)py.Long_As(args[1]) : 0;

	(void)self;
	for (unsigned i = note ? depth : 0; i--;) {
		const struct open_call *o = &open_calls[i];

		if (o->epoch != session_epoch || o->function != note->id || o->offset != offset)
			continue;
		depth = i;
		end(r, o);
		break;
	}
	return py.None;
}

static struct py_method on_call_method = { "inferscope", (py_function)(void (*)(void))on_call,
					   PY_FAST, NULL };
static struct py_method on_end_method = { "inferscope", (py_function)(void (*)(void))on_end,
					  PY_FAST, NULL };

/* sys.monitoring.NAME(tool, second, third); drops both; false on an exception. */
static bool ask(const char *name, PyObject *second, PyObject *third)
{
	PyObject *function = py.GetAttr(listening.monitoring, name);
	PyObject *id = py.Long_From(listening.tool);
	PyObject *result = function && id && second && third
				   ? py.CallWith(function, id, second, third, NULL)
				   : NULL;
	bool done = result != NULL;

	py_drop(function);
	py_drop(id);
	py_drop(second);
	py_drop(third);
	py_drop(result);
	py.Err_Clear();
	return done;
}

/* 0: unknown. */
static long event_bit(const char *name)
{
	PyObject *events = py.GetAttr(listening.monitoring, "events");
	PyObject *value = events ? py.GetAttr(events, name) : NULL;
	long bit = value ? py.Long_As(value) : 0;

	py_drop(value);
	py_drop(events);
	py.Err_Clear();
	return bit;
}

static bool listen_to(const char *event, struct py_method *method)
{
	long bit = event_bit(event);

	return bit && ask("register_callback", py.Long_From(bit),
			  method ? py.CFunction(method, NULL, NULL) : py_new_ref(py.None));
}

void native_scopes_start(PyObject *monitoring, PyObject *disable, int tool)
{
	PyObject *sys = py.Import("sys");

	if (!listening.standard && sys)
		listening.standard = py.GetAttr(sys, "stdlib_module_names");
	py_drop(sys);
	py.Err_Clear();
	listening.monitoring = monitoring;
	listening.disable = disable;
	listening.tool = tool;
	listening.calls = event_bit("CALL");
	if (!listening.standard || !listen_to("CALL", &on_call_method) ||
	    !listen_to("C_RETURN", &on_end_method) || !listen_to("C_RAISE", &on_end_method))
		listening.tool = -1;
}

void native_scopes_stop(void)
{
	if (listening.tool < 0)
		return;
	listen_to("CALL", NULL);
	listen_to("C_RETURN", NULL);
	listen_to("C_RAISE", NULL);
	listening.tool = -1;
}

/*
 * Where a program switches on a profiler of its own, that one would be told of the end of this very
 * call if the place was listened to.  getattr(sys, ...) may name one.
 */
static bool may_profile(PyObject *code)
{
	enum { GETS = 1, HOLDS = 2, MAY = GETS | HOLDS };
	static const struct {
		const char *name;
		unsigned is;
	} names[] = { { "setprofile", MAY }, { "setprofile_all_threads", MAY },
		      { "settrace", MAY },   { "settrace_all_threads", MAY },
		      { "enable", MAY },     { "getattr", GETS },
		      { "sys", HOLDS },      { "threading", HOLDS } };
	PyObject *used = py.GetAttr(code, "co_names");
	ssize_t n = used ? py.Tuple_Size(used) : 0;
	unsigned is = used ? 0 : MAY;

	for (ssize_t i = 0; i < n && is != MAY; i++) {
		struct text t = text_of(py.Tuple_GetItem(used, i), NAME_MOST);

		for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++) {
			if (t.bytes == strlen(names[k].name) &&
			    !memcmp(t.data, names[k].name, t.bytes))
				is |= names[k].is;
		}
		text_release(&t);
	}
	py_drop(used);
	py.Err_Clear();
	return is == MAY;
}

void native_scopes_listen(PyObject *code)
{
	if (listening.tool >= 0 && !may_profile(code))
		ask("set_local_events", py_new_ref(code), py.Long_From(listening.calls));
}
