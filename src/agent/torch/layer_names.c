#include "agent/torch/layer_names.h"

#include <stdlib.h>
#include <string.h>

#include "agent/core/intern.h"
#include "agent/overhead/budget.h"
#include "agent/python/text.h"
#include "base/varint.h"

#define NAME_MAX_BYTES 1024u
#define CLASS_MAX_BYTES 256u
#define DEPTH_MAX 64u
#define VISITS_FREE 64u   /* that a recording does in any case; more only while there is credit */
#define LAYERS_MAX 65536u /* definitions of a process: more are made by a program, not a person */

struct code_index layer_index;
static uint32_t defined, defined_epoch; /* in this recording */
static uint32_t visits_before;          /* it */
static uint32_t visits;                 /* visits of a root's modules */

/* Modules that are made to be called once have an id for each class. */
INTERN(classes, 1024);

/* A visit of all modules of a root. */
struct due_at {
	struct ring *r;
	const struct layer_kind *kind;
	struct layer_note *root;
	uint32_t left; /* modules that may still be examined */
	char name[NAME_MAX_BYTES];
};

static PyObject *on_gone(PyObject *address, PyObject *weak)
{
	struct layer_note *note = code_table_remove(&layer_index, py.Long_AsPointer(address));

	if (note) {
		py_drop(note->weak);
		free(note);
	}
	(void)weak;
	return py_new_ref(py.None);
}

static struct py_method gone_method = { "inferscope", on_gone, PY_ONE_ARG, NULL };

static struct layer_note *note_attach(PyObject *module)
{
	PyObject *address = py.Long_FromPointer(module);
	PyObject *gone = address ? py.CFunction(&gone_method, address, NULL) : NULL;
	PyObject *weak = gone ? py.Weakref_New(module, gone) : NULL;
	/* Before 3.12 the calls above may have run the garbage collector, and so any code. */
	struct layer_note *note = code_table_find(&layer_index, module);

	py_drop(address);
	py_drop(gone);
	if (note || !weak) {
		py_drop(weak);
		py.Err_Clear();
		return note;
	}
	note = calloc(1, sizeof(*note));
	if (!note || !code_table_insert(&layer_index, module, note)) {
		py_drop(weak);
		free(note);
		return NULL;
	}
	note->weak = weak;
	return note;
}

/* Of a class, not that of its module: for classes made by Python it is all there is. */
static const char *class_name(const PyObject *module, uint32_t *bytes)
{
	const char *name = py_type_name(module->type);

	*bytes = (uint32_t)strnlen(name, CLASS_MAX_BYTES);
	return name;
}

static bool may_define(void)
{
	if (defined_epoch != session_epoch) {
		defined_epoch = session_epoch;
		defined = 0;
		visits_before = visits;
	}
	return defined < LAYERS_MAX;
}

/* An id of 0: a fresh one.  Where there is no room for the definition the note is of no recording.
 */
static void define(struct ring *r, struct layer_note *note, uint32_t id, const PyObject *module,
		   uint32_t root, const char *name, uint32_t name_bytes)
{
	uint8_t head[2 * VARINT_MAX + CLASS_MAX_BYTES];
	uint32_t class_bytes;
	const char *class = class_name(module, &class_bytes);
	size_t n = varint_put(head, root);

	if (!id)
		id = session_next_id(r->session);
	n += varint_put(head + n, class_bytes);
	memcpy(head + n, class, class_bytes);
	n += class_bytes;
	note->epoch = 0;
	if (!ring_define(r, DEF_LAYER, id, head, (uint32_t)n, name, name_bytes))
		return;
	defined++;
	note->id = id;
	note->root = root;
	note->shares_id = false;
	note->throttled = false;
	note->epoch = session_epoch;
}

/*
 * A part of the root, for the first time in this visit.  False: it keeps the name that it has, and
 * so do its parts.  `*instead` is a root that gave names before and no longer does: one that was
 * called by itself until it was called as a part.
 */
static bool name_part(struct due_at *due_at, PyObject *module, uint32_t bytes, uint32_t *instead)
{
	struct layer_note *note = code_table_find(&layer_index, module);
	bool named = note && note->epoch == session_epoch;

	if (!may_define())
		return false;
	if (!note)
		note = note_attach(module);
	if (!note || note == due_at->root || note->visit == visits)
		return false;
	note->visit = visits;
	if (named && note->root == due_at->root->id)
		return true;
	if (named && note->root && note->root != *instead)
		return false;
	if (named && !note->root)
		*instead = note->id;
	define(due_at->r, note, named && !note->shares_id ? note->id : 0, module, due_at->root->id,
	       due_at->name, bytes);
	return true;
}

/* `at`: the bytes of look->name that are the module's own name. */
static void name_parts(struct due_at *due_at, PyObject *module, uint32_t at, uint32_t instead,
		       unsigned depth)
{
	PyObject *parts = depth < DEPTH_MAX ? due_at->kind->parts(module) : NULL;
	PyObject *key, *part;
	ssize_t next = 0;

	while (parts && due_at->left && py.Dict_Next(parts, &next, &key, &part)) {
		uint32_t before = instead, bytes = at;
		struct text t;

		if (part == py.None || key->type != py.UnicodeType)
			continue;
		due_at->left--;
		py.IncRef(key);
		py.IncRef(part);
		t = text_of(key, NAME_MAX_BYTES);
		if (bytes + 1 + t.bytes <= NAME_MAX_BYTES) {
			if (bytes)
				due_at->name[bytes++] = '.';
			memcpy(due_at->name + bytes, t.data, t.bytes);
			bytes += t.bytes;
			if (name_part(due_at, part, bytes, &before))
				name_parts(due_at, part, bytes, before, depth + 1);
		}
		text_release(&t);
		py_drop(key);
		py_drop(part);
	}
	py_drop(parts);
	py.Err_Clear();
}

static void name_all(struct ring *r, PyObject *module, struct layer_note *root,
		     const struct layer_kind *kind)
{
	struct due_at due_at = { .r = r, .kind = kind, .root = root, .left = LAYERS_MAX };
	uint64_t began_ns = stamp_monotonic();

	root->visit = ++visits;
	name_parts(&due_at, module, 0, 0, 0);
	budget_spend_once_ns(stamp_monotonic() - began_ns);
}

/* A module that no root leads to, or that there is no time to visit. */
static void name_by_class(struct ring *r, PyObject *module, struct layer_note *note)
{
	uint32_t bytes;
	const char *class = class_name(module, &bytes);
	uint64_t hash = intern_mix_bytes(1, class, bytes);
	uint32_t id = intern_find(&classes, hash);

	if (id) {
		note->id = id;
		note->root = 0;
		note->epoch = session_epoch;
	} else {
		define(r, note, 0, module, 0, NULL, 0);
		if (note->epoch == session_epoch)
			intern_put(&classes, hash, note->id);
	}
	note->shares_id = true;
}

/* Names are worth more than what they cost, unless the program makes models all day. */
static bool may_visit(void)
{
	return visits - visits_before < VISITS_FREE || !budget_over();
}

static bool is_power_of_two(uint32_t n)
{
	return !(n & (n - 1));
}

struct layer_note *layer_note_slow(struct ring *r, PyObject *module, PyObject *outermost,
				   const struct layer_kind *kind)
{
	/* What has a note is alive. */
	struct layer_note *root = outermost ? code_table_find(&layer_index, outermost) : NULL;
	PyObject *type, *value, *traceback, *parts;
	struct layer_note *note = NULL;

	if (!may_define())
		return NULL;
	py.Err_Fetch(&type, &value, &traceback);
	parts = kind->parts(module);
	/*
	 * It may just have become a part of the root; to visit the root each time would cost too
	 * much.
	 */
	if (parts && root && is_power_of_two(++root->unnamed) && may_visit()) {
		py.IncRef(outermost);
		name_all(r, outermost, root, kind);
		py_drop(outermost);
		note = code_table_find(&layer_index, module);
	}
	if (parts && (!note || note->epoch != session_epoch))
		note = note_attach(module);
	if (note && note->epoch != session_epoch) {
		if (outermost || !may_visit()) {
			name_by_class(r, module, note);
		} else {
			define(r, note, 0, module, 0, NULL, 0);
			if (note->epoch == session_epoch)
				name_all(r, module, note, kind);
		}
	}
	py_drop(parts);
	py.Err_Clear();
	py.Err_Restore(type, value, traceback);
	return note && note->epoch == session_epoch ? note : NULL;
}
