/* Naming code objects; see codes.h. */
#include "agent/python/codes.h"

#include <stdlib.h>
#include <string.h>

#include "agent/core/hot.h"
#include "agent/core/session.h"
#include "agent/overhead/budget.h"
#include "agent/python/forward_hooks.h"
#include "agent/python/frames.h"
#include "agent/python/text.h"
#include "agent/python/watched_functions.h"
#include "base/varint.h"

#define NAME_MAX_BYTES 2000u
#define FILE_MAX_BYTES 4096u
#define SLOW_MAX_NS 100000u /* what takes longer was interrupted */
#define NEST_MAX 64         /* a guard for code objects nested by a program, not a person */

enum code_flags {
	CODE_OPTIMIZED = 0x01, /* a function body, not a class or module */
	CODE_GENERATOR = 0x20,
	CODE_COROUTINE = 0x80,
	CODE_ASYNC_GENERATOR = 0x200,
};

HOT_DATA struct code_index codes_index;
HOT_DATA _Atomic uint64_t codes_freed;

static bool watching;           /* 3.12 and later: the interpreter reports every code object */
static ssize_t death_slot = -1; /* else: it frees what is in this extra slot of ours */

/* Before the memory can be another function's. */
static void forget(const void *code)
{
	struct code_note *note = code_table_remove(&codes_index, code);

	if (!note)
		return;
	/* Pairs with the acquire in stacks_current(). */
	atomic_fetch_add_explicit(&codes_freed, 1, memory_order_release);
	free(note->name);
	free(note->bytecode);
	free(note);
}

static int on_code_event(int event, PyObject *code)
{
	if (event == PY_CODE_DESTROYED)
		forget(code);
	return 0;
}

/* The slot holds the address of the code object itself; NULL where the slot is another tool's. */
static void on_code_extra_freed(void *code)
{
	if (code)
		forget(code);
}

struct code_note *codes_lookup(const void *code)
{
	return code_table_find(&codes_index, code);
}

static long long_attribute(PyObject *object, const char *name)
{
	PyObject *value = py.GetAttr(object, name);
	long n = value ? py.Long_As(value) : 0;

	if (value)
		py_drop(value);
	py.Err_Clear();
	return n;
}

static struct code_note *note_attach(PyObject *code)
{
	struct code_note *note = calloc(1, sizeof(*note));

	if (!note || !code_table_insert(&codes_index, code, note)) {
		free(note);
		return NULL;
	}
	note->code = code;
	if (!watching && py.Extra_Set(code, death_slot, code)) {
		py.Err_Clear();
		forget(code);
		return NULL;
	}
	return note;
}

/* Puts a note on a code object that dies at once: is it gone as well? */
static bool free_hook_works(void)
{
	PyObject *probe = py.Code_NewEmpty("inferscope", "probe", 1);
	bool noted = probe && note_attach(probe), reported;

	py_drop(probe);
	reported = noted && !code_table_find(&codes_index, probe);
	if (noted && !reported)
		forget(probe);
	py.Err_Clear();
	return reported;
}

/*
 * An extra slot is the second choice: CPython calls the free functions of all
 * its users, with NULL, for every code object on which one of them has set
 * something, even where the library that one of them came from is gone.
 */
int codes_init(void)
{
	if ((watching || death_slot >= 0) && free_hook_works())
		return 0; /* else: the interpreter was finalized and started again */
	/* All of its eight watchers may be taken. */
	watching = py.Code_AddWatcher && py.Code_AddWatcher(on_code_event) >= 0;
	py.Err_Clear();
	if (watching && free_hook_works())
		return 0;
	watching = false;
	if (py.Extra_Index && py.Extra_Set)
		death_slot = py.Extra_Index(on_code_extra_freed);
	return death_slot >= 0 && free_hook_works() ? 0 : -1;
}

/* Before 3.12: to distinguish a resumption from a call, and a yield from a return. */
static void keep_bytecode(struct code_note *note, PyObject *code)
{
	PyObject *bytes;
	char *data;
	ssize_t n;

	if (!(long_attribute(code, "co_flags") &
	      (CODE_GENERATOR | CODE_COROUTINE | CODE_ASYNC_GENERATOR)))
		return;
	bytes = py.GetAttr(code, "co_code");
	if (bytes && !py.Bytes_As(bytes, &data, &n) && n > 0 && n < INT32_MAX) {
		note->bytecode = malloc((size_t)n);
		if (note->bytecode) {
			memcpy(note->bytecode, data, (size_t)n);
			note->bytecode_bytes = (uint32_t)n;
		}
	}
	if (bytes)
		py_drop(bytes);
	py.Err_Clear();
}

/*
 * Before 3.11 a code object does not know its qualified name.  A module's code
 * holds the code of everything defined in it: name them all by the compiler's
 * own rule when the module is first seen, that is, before it runs.
 */
static void name_nested(PyObject *code, const char *outer, bool in_function, int depth)
{
	PyObject *constants = py.GetAttr(code, "co_consts");
	ssize_t n = constants ? py.Tuple_Size(constants) : 0;

	for (ssize_t i = 0; i < n && depth < NEST_MAX; i++) {
		PyObject *nested = py.Tuple_GetItem(constants, i);
		struct code_note *note;
		PyObject *name;
		struct text t;
		size_t bytes;
		bool is_function;

		if (!nested || nested->type != py.CodeType)
			continue;
		note = code_table_find(&codes_index, nested);
		if (!note)
			note = note_attach(nested);
		if (!note || note->name)
			continue;
		name = py.GetAttr(nested, "co_name");
		t = text_of(name, NAME_MAX_BYTES);
		bytes = strlen(outer) + sizeof(".<locals>.") + t.bytes + 1;
		note->name = malloc(bytes);
		if (note->name) {
			const char *joint = !*outer ? "" : in_function ? ".<locals>." : ".";
			size_t at = 0;

			memcpy(note->name, outer, strlen(outer));
			at += strlen(outer);
			memcpy(note->name + at, joint, strlen(joint));
			at += strlen(joint);
			memcpy(note->name + at, t.data, t.bytes);
			note->name[at + t.bytes] = '\0';
			is_function = long_attribute(nested, "co_flags") & CODE_OPTIMIZED;
			name_nested(nested, note->name, is_function, depth + 1);
		}
		text_release(&t);
		if (name)
			py_drop(name);
	}
	if (constants)
		py_drop(constants);
	py.Err_Clear();
}

/* Is `name` the last part of `qualified`? */
static bool is_last_part(const struct text *name, const struct text *qualified)
{
	uint32_t before = qualified->bytes - name->bytes;

	return name->bytes <= qualified->bytes &&
	       !memcmp(qualified->data + before, name->data, name->bytes) &&
	       (!before || qualified->data[before - 1] == '.');
}

/*
 * A decorator may have given the function the name of another; its code then
 * gets its name from the function that it is nested in.
 */
static void name_function(PyObject *function)
{
	PyObject *code = py.GetAttr(function, "__code__");
	PyObject *name = code ? py.GetAttr(code, "co_name") : NULL;
	PyObject *qualified = py.GetAttr(function, "__qualname__");
	struct text t = text_of(name, NAME_MAX_BYTES), q = text_of(qualified, NAME_MAX_BYTES);
	struct code_note *note;

	if (code && is_last_part(&t, &q)) {
		note = code_table_find(&codes_index, code);
		if (!note)
			note = note_attach(code);
		if (note && !note->name) {
			note->name = strndup(q.data, q.bytes);
			if (note->name)
				name_nested(code, note->name, true, 0);
		}
	}
	text_release(&t);
	text_release(&q);
	py_drop(code);
	py_drop(name);
	py_drop(qualified);
	py.Err_Clear();
}

void codes_name_loaded(void)
{
	PyObject *gc, *get_objects, *objects;
	ssize_t n;

	if (py.version >= 0x030b0000)
		return;
	gc = py.Import("gc");
	get_objects = gc ? py.GetAttr(gc, "get_objects") : NULL;
	objects = get_objects ? py.Call(get_objects, NULL) : NULL;
	n = objects ? py.List_Size(objects) : 0;
	for (ssize_t i = 0; i < n; i++) {
		PyObject *object = py.List_GetItem(objects, i);

		if (object->type == py.FunctionType)
			name_function(object);
	}
	py_drop(gc);
	py_drop(get_objects);
	py_drop(objects);
	py.Err_Clear();
}

static bool is_module_body(PyObject *code)
{
	PyObject *name = py.GetAttr(code, "co_name");
	struct text t = text_of(name, NAME_MAX_BYTES);
	bool yes = t.bytes == 8 && !memcmp(t.data, "<module>", 8);

	text_release(&t);
	if (name)
		py_drop(name);
	return yes;
}

static bool has_part(const struct text *file, const char *part)
{
	return memmem(file->data, file->bytes, part, strlen(part)) != NULL;
}

/* According to its path: neither an installed package nor the standard library. */
static bool is_users(const struct text *file)
{
	return file->bytes && file->data[0] != '<' && !has_part(file, "/site-packages/") &&
	       !has_part(file, "/dist-packages/") && !has_part(file, "/lib/python3");
}

/* Is the newest frame its, and was it called by the user's code? */
static bool is_called_by_user(PyObject *code)
{
	struct frame_ref frames[FRAMES_MAX];
	size_t n = frames_read(frames);
	const struct code_note *caller =
		n > 1 && frames[0].code == code
			? code_table_find(&codes_index, (PyObject *)frames[1].code)
			: NULL;

	return caller && caller->users;
}

static bool define(struct ring *r, PyObject *code, struct code_note *note, uint32_t id)
{
	PyObject *name = NULL, *file = py.GetAttr(code, "co_filename");
	struct text name_text = { "?", 1, NULL }, file_text;
	uint8_t head[2 * VARINT_MAX + NAME_MAX_BYTES];
	long line = long_attribute(code, "co_firstlineno");
	bool defined;
	size_t n;

	if (note->name) {
		name_text.data = note->name;
		name_text.bytes = (uint32_t)strlen(note->name);
		if (name_text.bytes > NAME_MAX_BYTES)
			name_text.bytes = NAME_MAX_BYTES;
	} else {
		name = py.GetAttr(code, py.version >= 0x030b0000 ? "co_qualname" : "co_name");
		name_text = text_of(name, NAME_MAX_BYTES);
	}
	file_text = text_of(file, FILE_MAX_BYTES);
	note->watch = watched_function_find(&name_text, &file_text);
	note->users = is_users(&file_text);
	if (py.version >= 0x030c0000) {
		bool takes_arguments = long_attribute(code, "co_argcount") > 0;

		note->calls_unheard = note->users;
		note->called_there = note->users || is_called_by_user(code);
		forward_hooks_wanted |= watched_function_calls_modules(note->watch);
		note->passes = !takes_arguments || watched_function_passes(&name_text, &file_text);
		if (!note->forward && takes_arguments && !note->passes && !note->watch)
			note->forward = forward_hooks_number(code);
	}
	n = varint_put(head, line > 0 ? (uint64_t)line : 0);
	n += varint_put(head + n, name_text.bytes);
	memcpy(head + n, name_text.data, name_text.bytes);
	n += name_text.bytes;
	defined = ring_define(r, DEF_CODE, id, head, (uint32_t)n, file_text.data, file_text.bytes);
	text_release(&name_text);
	text_release(&file_text);
	if (name)
		py_drop(name);
	if (file)
		py_drop(file);
	py.Err_Clear();
	return defined;
}

struct code_note *codes_note_nameless(PyObject *code)
{
	struct code_note *note = code_table_find(&codes_index, code);

	if (!note)
		note = note_attach(code);
	if (note)
		atomic_store_explicit(&note->epoch, session_epoch, memory_order_relaxed);
	return note;
}

struct code_note *codes_note_slow(struct ring *r, PyObject *code, struct code_note *note)
{
	PyObject *type, *value, *traceback;
	uint64_t start_ns = stamp_monotonic(), took_ns;
	uint32_t id;

	if (code->type != py.CodeType)
		return NULL;
	py.Err_Fetch(&type, &value, &traceback);
	if (!note) {
		note = note_attach(code);
		if (!note)
			goto out;
		if (py.version < 0x030b0000 && is_module_body(code))
			name_nested(code, "", false, 0);
	}
	if (py.version < 0x030c0000 && !note->bytecode)
		keep_bytecode(note, code);
	id = session_next_id(r->session);
	note->id = define(r, code, note, id) ? id : 0;
	/* Without room for the definition the next event tries again. */
	/* Pairs with the acquire in name_stack(), which has no GIL: the id is there. */
	atomic_store_explicit(&note->epoch, note->id ? session_epoch : 0, memory_order_release);
out:
	py.Err_Restore(type, value, traceback);
	took_ns = stamp_monotonic() - start_ns;
	if (took_ns > SLOW_MAX_NS)
		took_ns = SLOW_MAX_NS;
	budget_spend_once_ns(took_ns + (py.version >= 0x030c0000 ? CODES_INSTRUMENT_NS : 0));
	return note;
}
