#include "agent/python/frames.h"

#include <stdatomic.h>
#include <string.h>

#include "agent/core/hot.h"
#include "agent/core/intern.h"
#include "agent/python/pyapi.h"
#include "format/py_layout.h"

#define WALK_MAX 1000u /* frames between a function and one that it waits for */

/* NULL until it was checked; stays from then on, for threads without the GIL may be reading by it.
 */
static HOT_DATA _Atomic(const struct py_layout *) checked;

/* Pairs with the release in frames_init(). */
static const struct py_layout *checked_layout(void)
{
	return atomic_load_explicit(&checked, memory_order_acquire);
}

static const char *pointer_at(const char *base, size_t offset)
{
	const char *p;

	memcpy(&p, base + offset, sizeof(p));
	return p;
}

static uint32_t offset_in(const struct py_layout *l, const char *frame, const char *code)
{
	int index;

	if (l->bytecode)
		return (uint32_t)(pointer_at(frame, l->instruction) - code - l->bytecode);
	memcpy(&index, frame + l->instruction, sizeof(index));
	return index < 0 ? 0 : (uint32_t)index * l->unit;
}

static const char *code_of(const struct py_layout *l, const char *frame)
{
	const char *tagged = pointer_at(frame, l->code);

	return tagged - ((uintptr_t)tagged & l->tags);
}

/* NULL, too, once the interpreter is about to free what other threads have. */
static const char *newest_frame(const struct py_layout *l)
{
	bool ends = py.IsFinalizing && py.IsFinalizing();
	const char *state = l && !ends ? py.ThreadState_OfThis() : NULL;
	const char *at = state ? pointer_at(state, l->frame) : NULL;

	return at && l->has_cframe ? pointer_at(at, l->cframe_frame) : at;
}

struct frame_mark frames_newest(void)
{
	const struct py_layout *l = checked_layout();
	const char *frame = newest_frame(l);

	return (struct frame_mark){ frame, frame ? code_of(l, frame) : NULL };
}

bool frames_is_inside(const struct frame_mark *mark, bool outer)
{
	const struct py_layout *l = checked_layout();
	const char *frame = newest_frame(l);
	unsigned n = 0;

	if (frame && outer)
		frame = pointer_at(frame, l->previous);
	for (; frame && n < WALK_MAX; n++) {
		if (frame == mark->frame)
			return code_of(l, frame) == mark->code;
		frame = pointer_at(frame, l->previous);
	}
	return n == WALK_MAX;
}

/* A variable that functions inside use lies in a cell. */
static PyObject *first_variable(const struct py_layout *l, const char *frame)
{
	const char *tagged = pointer_at(frame, l->locals);
	PyObject *value = (PyObject *)(tagged - ((uintptr_t)tagged & l->tags));

	if (value && value->type == py.CellType)
		value = (PyObject *)pointer_at((const char *)value, PY_CELL_VALUE);
	return value;
}

/* Is the first variable of the newest frame what Python has under this name? */
static bool variable_agrees(const struct py_layout *l, const char *frame, const char *name)
{
	PyObject *now = py.Frame_Now();
	PyObject *locals = now ? py.GetAttr(now, "f_locals") : NULL;
	PyObject *key = locals ? py.Unicode_From(name) : NULL;
	PyObject *value = key ? py.GetItem(locals, key) : NULL;
	bool agree = value && memory_readable(frame + l->locals, sizeof(void *)) &&
		     memory_readable(pointer_at(frame, l->locals), sizeof(*value)) &&
		     first_variable(l, frame) == value;

	py_drop(locals);
	py_drop(key);
	py_drop(value);
	py.Err_Clear();
	return agree;
}

static enum { UNKNOWN, READABLE, UNREADABLE } variables;

PyObject *frames_argument(const char *name)
{
	const struct py_layout *l = checked_layout();
	const char *frame = newest_frame(l);

	if (!frame || !l->locals || variables == UNREADABLE)
		return NULL;
	if (variables == UNKNOWN)
		variables = variable_agrees(l, frame, name) ? READABLE : UNREADABLE;
	return variables == READABLE ? first_variable(l, frame) : NULL;
}

/* Not one that stands for C code. */
static bool is_function(const struct py_layout *l, const char *frame, const char *code)
{
	bool entry = l->owner && frame[l->owner] == PY_OWNED_BY_C_STACK;

	return !entry && code && ((const PyObject *)code)->type == py.CodeType;
}

PyObject *frames_argument_of(unsigned depth)
{
	const struct py_layout *l = checked_layout();
	const char *frame = newest_frame(l);

	if (!frame || !l->locals || variables != READABLE)
		return NULL;
	for (; frame; frame = pointer_at(frame, l->previous)) {
		if (is_function(l, frame, code_of(l, frame)) && !depth--)
			return first_variable(l, frame);
	}
	return NULL;
}

static size_t read_frames(const struct py_layout *l, struct frame_ref out[FRAMES_MAX])
{
	const char *frame = newest_frame(l);
	size_t n = 0;

	for (unsigned i = 0; frame && i < FRAMES_MAX; i++) {
		const char *code = code_of(l, frame);

		if (is_function(l, frame, code)) {
			out[n].code = code;
			out[n].offset = offset_in(l, frame, code);
			n++;
		}
		frame = pointer_at(frame, l->previous);
	}
	return n;
}

size_t frames_read(struct frame_ref out[FRAMES_MAX])
{
	return read_frames(checked_layout(), out);
}

/*
 * Between two calls of a model most frames stay where they are, but not in the
 * nearest cache, and each is found by the one before: fetched all at once they come
 * in a fraction of the time.
 */
static void prefetch_frames(const struct py_layout *l, const struct frames_path *last)
{
	for (unsigned i = 0; i < last->count; i++) {
		__builtin_prefetch(last->frames[i] + l->previous);
		__builtin_prefetch(last->frames[i] + l->instruction);
	}
}

/* What a frame runs and where it is in it; an instruction's address says both. */
static inline uint64_t place_in(const char *frame, const struct py_layout *l)
{
	int index;

	if (l->bytecode)
		return (uint64_t)(uintptr_t)pointer_at(frame, l->instruction);
	memcpy(&index, frame + l->instruction, sizeof(index));
	/* Spread over all bits: sums of small differences must not cancel each other out. */
	return (uint64_t)(uintptr_t)pointer_at(frame, l->code) +
	       (uint64_t)(uint32_t)index * 0x9e3779b97f4a7c15ull;
}

/* A polynomial: unlike with intern_mix(), no frame's product waits for that of the one before. */
HOT uint64_t frames_fingerprint(struct frames_path *last)
{
	const struct py_layout *known = checked_layout();
	const char *frame = newest_frame(known);
	const struct py_layout l =
		known ? *known : (struct py_layout){ 0 }; /* stays in registers */
	uint64_t sum = 0, factor = 1;
	unsigned n = 0;

	prefetch_frames(&l, last);
	while (frame && n < FRAMES_MAX) {
		last->frames[n++] = frame;
		factor *= 0xd1342543de82ef95ull;
		sum += place_in(frame, &l) * factor;
		frame = pointer_at(frame, l.previous);
	}
	last->count = n;
	return n ? intern_mix(sum, n) : 0;
}

static const uint8_t *line_table(const struct py_layout *l, const void *code, uint32_t *bytes)
{
	const char *table = l ? pointer_at(code, l->line_table) : NULL;
	ssize_t n;

	if (!table)
		return NULL;
	memcpy(&n, table + PY_BYTES_LENGTH, sizeof(n));
	if (n < 0 || n > INT32_MAX)
		return NULL;
	*bytes = (uint32_t)n;
	return (const uint8_t *)table + PY_BYTES_DATA;
}

const uint8_t *frames_line_table(const void *code, uint32_t *bytes)
{
	return line_table(checked_layout(), code, bytes);
}

/* Does Python's own account of its stack agree with ours, frame by frame? */
static bool frames_agree(const struct py_layout *l)
{
	struct frame_ref ours[FRAMES_MAX];
	size_t n = read_frames(l, ours), i = 0;
	PyObject *frame = py_current_frame();
	bool agree = n > 0 && frame;

	while (agree && frame && frame != py.None && i < n) {
		PyObject *code = py.GetAttr(frame, "f_code");
		PyObject *lasti = py.GetAttr(frame, "f_lasti");
		PyObject *outer = py.GetAttr(frame, "f_back");

		agree = code == ours[i].code && lasti && py.Long_As(lasti) == (long)ours[i].offset;
		i++;
		py_drop(code);
		py_drop(lasti);
		py_drop(frame);
		frame = outer;
	}
	/* More frames than ours: right only where ours are cut, at worst half of them entry frames.
	 */
	agree = agree && i == n && (!frame || frame == py.None || n >= FRAMES_MAX / 2);
	py_drop(frame);
	py.Err_Clear();
	return agree;
}

static bool line_table_agrees(const struct py_layout *l)
{
	struct frame_ref frames[FRAMES_MAX];
	PyObject *table = NULL;
	const uint8_t *data = NULL;
	uint32_t bytes = 0;
	char *theirs;
	ssize_t n;
	bool agree = false;

	if (read_frames(l, frames)) {
		table = py.GetAttr((PyObject *)(uintptr_t)frames[0].code,
				   py.version >= 0x030a0000 ? "co_linetable" : "co_lnotab");
		data = line_table(l, frames[0].code, &bytes);
	}
	if (table && data && !py.Bytes_As(table, &theirs, &n))
		agree = (size_t)n == bytes && !memcmp(theirs, data, bytes);
	py_drop(table);
	py.Err_Clear();
	return agree;
}

/*
 * A layout that is wrong for this interpreter points anywhere: before anything is
 * read by it, all that will be read is tried.
 */
static bool is_safe(const struct py_layout *l)
{
	const char *at = py.ThreadState_OfThis(), *code;
	unsigned n = 0;

	if (!at || !memory_readable(at + l->frame, sizeof(at)))
		return false;
	at = pointer_at(at, l->frame);
	if (at && l->has_cframe) {
		if (!memory_readable(at + l->cframe_frame, sizeof(at)))
			return false;
		at = pointer_at(at, l->cframe_frame);
	}
	for (; at && n < FRAMES_MAX; n++) {
		if (!memory_readable(at, l->instruction + sizeof(at)) ||
		    !memory_readable(at, l->owner + 1u))
			return false;
		code = code_of(l, at);
		if (code && !memory_readable(code, sizeof(PyObject)))
			return false;
		/* Frames of C code run something else. */
		if (code && ((const PyObject *)code)->type == py.CodeType &&
		    (!memory_readable(code + l->line_table, sizeof(code)) ||
		     !memory_readable(pointer_at(code, l->line_table), PY_BYTES_DATA)))
			return false;
		at = pointer_at(at, l->previous);
	}
	return n > 0;
}

int frames_init(void)
{
	const struct py_layout *l = py_layout_find(py.version);

	if (checked_layout())
		return 0;
	if (!l || !is_safe(l) || !frames_agree(l) || !line_table_agrees(l))
		return -1;
	/* Pairs with the acquire in checked_layout(). */
	atomic_store_explicit(&checked, l, memory_order_release);
	return 0;
}

bool frames_known(void)
{
	return checked_layout() != NULL;
}
