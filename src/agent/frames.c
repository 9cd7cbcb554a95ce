#include "agent/frames.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/intern.h"
#include "agent/pyapi.h"

struct layout {
	uint32_t version;
	/* In the thread state: the newest frame, or (has_cframe) what holds it. */
	uint16_t frame;
	bool has_cframe;
	uint16_t cframe_frame;
	/* In a frame. */
	uint16_t code, previous, instruction;
	uint8_t owner; /* 0: frames have none */
	/*
	 * Where bytecode starts in a code object; 0: `instruction` is an index already, in
	 * units of
	 */
	uint16_t bytecode;
	uint8_t unit;
	uint16_t line_table; /* in a code object */
	uint8_t tags;        /* low bits of a frame's `code` that say how it is counted */
};

static const struct layout layouts[] = {
	{ 0x0308, 24, false, 0, 32, 24, 104, 0, 0, 1, 120, 0 },
	{ 0x0309, 24, false, 0, 32, 24, 104, 0, 0, 1, 120, 0 },
	{ 0x030a, 24, false, 0, 32, 24, 96, 0, 0, 2, 120, 0 },
	{ 0x030b, 56, true, 8, 32, 48, 56, 0, 184, 0, 136, 0 },
	{ 0x030c, 56, true, 0, 0, 8, 56, 70, 192, 0, 136, 0 },
	{ 0x030d, 72, false, 0, 0, 8, 56, 70, 200, 0, 136, 0 },
	{ 0x030e, 72, false, 0, 0, 8, 56, 74, 208, 0, 136, 3 },
	{ 0x030f, 72, false, 0, 0, 8, 56, 74, 208, 0, 136, 3 },
};

#define OWNED_BY_C_STACK 3 /* an entry frame without code of its own (3.12 and later) */
#define BYTES_SIZE 16u     /* in a bytes object */
#define BYTES_DATA 32u

/* NULL until it was checked; stays from then on, for threads without the GIL may be reading by it.
 */
static _Atomic(const struct layout *) checked;

static const char *pointer_at(const char *base, size_t offset)
{
	const char *p;

	memcpy(&p, base + offset, sizeof(p));
	return p;
}

static uint32_t offset_in(const struct layout *l, const char *frame, const char *code)
{
	int index;

	if (l->bytecode)
		return (uint32_t)(pointer_at(frame, l->instruction) - code - l->bytecode);
	memcpy(&index, frame + l->instruction, sizeof(index));
	return index < 0 ? 0 : (uint32_t)index * l->unit;
}

static const char *code_of(const struct layout *l, const char *frame)
{
	const char *tagged = pointer_at(frame, l->code);

	return tagged - ((uintptr_t)tagged & l->tags);
}

/* NULL, too, once the interpreter is about to free what other threads have. */
static const char *newest_frame(const struct layout *l)
{
	bool ends = py.IsFinalizing && py.IsFinalizing();
	const char *state = l && !ends ? py.ThreadState_OfThis() : NULL;
	const char *at = state ? pointer_at(state, l->frame) : NULL;

	return at && l->has_cframe ? pointer_at(at, l->cframe_frame) : at;
}

static size_t read_frames(const struct layout *l, struct frame_ref out[FRAMES_MAX])
{
	const char *frame = newest_frame(l);
	size_t n = 0;

	for (unsigned i = 0; frame && i < FRAMES_MAX; i++) {
		const char *code = code_of(l, frame);
		bool entry = l->owner && frame[l->owner] == OWNED_BY_C_STACK;

		if (!entry && code && ((const PyObject *)code)->type == py.CodeType) {
			out[n].code = code;
			out[n].offset = offset_in(l, frame, code);
			n++;
		}
		frame = pointer_at(frame, l->previous);
	}
	return n;
}

/* Pairs with the release in frames_init(). */
static const struct layout *checked_layout(void)
{
	return atomic_load_explicit(&checked, memory_order_acquire);
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
static void prefetch_frames(const struct layout *l, const struct frames_path *last)
{
	for (unsigned i = 0; i < last->count; i++) {
		__builtin_prefetch(last->frames[i] + l->previous);
		__builtin_prefetch(last->frames[i] + l->instruction);
	}
}

/* What a frame runs and where it is in it; an instruction's address tells both. */
static inline uint64_t place_in(const char *frame, const struct layout *l)
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
uint64_t frames_fingerprint(struct frames_path *last)
{
	const struct layout *known = checked_layout();
	const char *frame = newest_frame(known);
	const struct layout l = known ? *known : (struct layout){ 0 }; /* stays in registers */
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

static const uint8_t *line_table(const struct layout *l, const void *code, uint32_t *bytes)
{
	const char *table = l ? pointer_at(code, l->line_table) : NULL;
	ssize_t n;

	if (!table)
		return NULL;
	memcpy(&n, table + BYTES_SIZE, sizeof(n));
	if (n < 0 || n > INT32_MAX)
		return NULL;
	*bytes = (uint32_t)n;
	return (const uint8_t *)table + BYTES_DATA;
}

const uint8_t *frames_line_table(const void *code, uint32_t *bytes)
{
	return line_table(checked_layout(), code, bytes);
}

/* Does Python's own account of its stack agree with ours, frame by frame? */
static bool frames_agree(const struct layout *l)
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

static bool line_table_agrees(const struct layout *l)
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

/* False: reading there would be a crash.  True also where the kernel does not let us ask. */
static bool is_readable(const char *at, size_t bytes)
{
	char copy[128];
	struct iovec local = { copy, bytes }, remote = { (void *)(uintptr_t)at, bytes };
	ssize_t n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

	return n == (ssize_t)bytes || (n < 0 && errno != EFAULT);
}

/*
 * A layout that is wrong for this interpreter points anywhere: before anything is
 * read by it, all that will be read is tried.
 */
static bool is_safe(const struct layout *l)
{
	const char *at = py.ThreadState_OfThis(), *code;
	unsigned n = 0;

	if (!at || !is_readable(at + l->frame, sizeof(at)))
		return false;
	at = pointer_at(at, l->frame);
	if (at && l->has_cframe) {
		if (!is_readable(at + l->cframe_frame, sizeof(at)))
			return false;
		at = pointer_at(at, l->cframe_frame);
	}
	for (; at && n < FRAMES_MAX; n++) {
		if (!is_readable(at, l->instruction + sizeof(at)) ||
		    !is_readable(at, l->owner + 1u))
			return false;
		code = code_of(l, at);
		if (code && !is_readable(code, sizeof(PyObject)))
			return false;
		/* Frames of C code run something else. */
		if (code && ((const PyObject *)code)->type == py.CodeType &&
		    (!is_readable(code + l->line_table, sizeof(code)) ||
		     !is_readable(pointer_at(code, l->line_table), BYTES_DATA)))
			return false;
		at = pointer_at(at, l->previous);
	}
	return n > 0;
}

int frames_init(void)
{
	const struct layout *l = NULL;

	if (checked_layout())
		return 0;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (layouts[i].version == py.version >> 16)
			l = &layouts[i];
	}
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
