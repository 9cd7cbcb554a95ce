/*
 * Where CPython keeps what we read without asking it: thread states, frames and
 * code objects, one row for each minor version.
 *
 * Two sides read by this table: the agent its own frames (agent/python/frames.c), the
 * recorder those of all threads from outside (capture/sampler/py_stacks.c).  Neither
 * believes it: at start the agent compares every field with what the
 * interpreter itself says, and on any difference nothing is read at all.
 * tests/python/test_py_layout.py compares it with the headers where there are any.
 */
#ifndef FORMAT_PY_LAYOUT_H
#define FORMAT_PY_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Offsets in bytes. */
struct py_layout {
	uint32_t version; /* 0x030c: 3.12 */

	/* In a frame. */
	uint8_t code, previous, instruction;
	uint8_t owner; /* 0: frames have none */
	/*
	 * Before 3.11 a frame is an object that outlives its call and keeps its
	 * `previous`: it runs if its byte at `state` is one whose bit is set in `runs`.
	 */
	uint8_t state, runs;
	/*
	 * From 3.11 on a frame that runs has -1 at `depth`, an int, and one that has called
	 * another Python function has not; one that has called C code has.  `entry`: in 3.11 the
	 * frames that C code called have a byte of 1; later they have an entry frame below them.
	 */
	uint8_t depth, entry;
	/* Instructions that leave a function, let a generator wait, and run one; 0: no more. */
	uint8_t leaves[7], waits[2], resumes[4];
	bool resumes_behind; /* a frame that has run one stands at the word behind that */
	uint8_t locals;      /* its variables and, behind them, its stack of values */
	uint8_t tags;        /* low bits of `code` that say how it is counted */
	uint8_t unit;        /* of an instruction that is an index: so many bytes */

	/* In a code object. */
	uint8_t name; /* the qualified one where it has that */
	uint8_t file, first_line, line_table;
	uint8_t bytecode; /* where it starts; 0: `instruction` is an index */
	/* Its frames take that many words: the sum of two ints (0: one only) and a constant. */
	uint8_t frame_size[2], frame_size_fixed;

	uint8_t generator; /* in a generator: its frame */

	/* In a thread state: the newest frame, or (has_cframe) what holds it. */
	uint8_t frame;
	bool has_cframe;
	uint8_t cframe_frame;

	/* What only the view from outside needs; `threads` 0: it is unknown for this version. */
	uint16_t threads; /* in the interpreter state: its newest thread state */
	uint8_t next;     /* in a thread state: an older one */
	uint8_t ident;    /* pthread_self() of its thread */
	uint8_t native;   /* its kernel's id; 0: thread states do not have it */
	uint16_t chunk;   /* newest piece of the stack of frames; 0: frames are objects */
	uint16_t gil;     /* in the interpreter state, a pointer; or (gil_is_global) in the runtime
			   */
	bool gil_is_global;
	uint8_t text, wide_text; /* in a str: characters of an ASCII and of any other one */
};

static const struct py_layout py_layouts[] = {
	{ .version = 0x0308,
	  .code = 32,
	  .previous = 24,
	  .instruction = 104,
	  .state = 116,
	  .runs = 1u << 1,
	  .unit = 1,
	  .name = 112,
	  .file = 104,
	  .first_line = 40,
	  .line_table = 120,
	  .frame = 24,
	  .threads = 8,
	  .next = 8,
	  .ident = 176,
	  .gil = 1152,
	  .gil_is_global = true,
	  .text = 48,
	  .wide_text = 72 },
	{ .version = 0x0309,
	  .code = 32,
	  .previous = 24,
	  .instruction = 104,
	  .state = 116,
	  .runs = 1u << 1,
	  .unit = 1,
	  .name = 112,
	  .file = 104,
	  .first_line = 40,
	  .line_table = 120,
	  .frame = 24,
	  .threads = 8,
	  .next = 8,
	  .ident = 176,
	  .gil = 352,
	  .gil_is_global = true,
	  .text = 48,
	  .wide_text = 72 },
	{ .version = 0x030a,
	  .code = 32,
	  .previous = 24,
	  .instruction = 96,
	  .state = 108,
	  .runs = 1u << 0 | 1u << 2 /* executing, unwinding */,
	  .unit = 2,
	  .name = 112,
	  .file = 104,
	  .first_line = 40,
	  .line_table = 120,
	  .frame = 24,
	  .threads = 8,
	  .next = 8,
	  .ident = 176,
	  .gil = 352,
	  .gil_is_global = true,
	  .text = 48,
	  .wide_text = 72 },
	{ .version = 0x030b,
	  .code = 32,
	  .previous = 48,
	  .instruction = 56,
	  .depth = 64,
	  .leaves = { 83, 75, 119, 130 },
	  .waits = { 86 },
	  .resumes = { 93, 123 },
	  .locals = 72,
	  .generator = 80,
	  .entry = 68,
	  .frame_size = { 76, 68 },
	  .frame_size_fixed = 9,
	  .name = 128,
	  .file = 112,
	  .first_line = 72,
	  .line_table = 136,
	  .bytecode = 184,
	  .frame = 56,
	  .has_cframe = true,
	  .cframe_frame = 8,
	  .threads = 16,
	  .next = 8,
	  .ident = 152,
	  .native = 160,
	  .chunk = 296,
	  .gil = 360,
	  .gil_is_global = true,
	  .text = 48,
	  .wide_text = 72 },
	{ .version = 0x030c,
	  .code = 0,
	  .previous = 8,
	  .instruction = 56,
	  .owner = 70,
	  .depth = 64,
	  .leaves = { 83, 121, 75, 119, 130, 242, 247 },
	  .waits = { 150, 243 },
	  .resumes = { 93, 123, 65, 168 },
	  .resumes_behind = true,
	  .locals = 72,
	  .generator = 72,
	  .frame_size = { 76 },
	  .name = 128,
	  .file = 112,
	  .first_line = 68,
	  .line_table = 136,
	  .bytecode = 192,
	  .frame = 56,
	  .has_cframe = true,
	  .cframe_frame = 0,
	  .threads = 72,
	  .next = 8,
	  .ident = 136,
	  .native = 144,
	  .chunk = 232,
	  .gil = 384,
	  .text = 40,
	  .wide_text = 56 },
	{ .version = 0x030d,
	  .code = 0,
	  .previous = 8,
	  .instruction = 56,
	  .owner = 70,
	  .depth = 64,
	  .leaves = { 36, 103, 35, 102, 101, 239, 240 },
	  .waits = { 118, 241 },
	  .resumes = { 72, 104, 187, 208 },
	  .locals = 72,
	  .generator = 72,
	  .frame_size = { 76 },
	  .name = 128,
	  .file = 112,
	  .first_line = 68,
	  .line_table = 136,
	  .bytecode = 200,
	  .frame = 72,
	  .threads = 7344,
	  .next = 8,
	  .ident = 152,
	  .native = 160,
	  .chunk = 232,
	  .gil = 16,
	  .text = 40,
	  .wide_text = 56 },
	{ .version = 0x030e,
	  .code = 0,
	  .previous = 8,
	  .instruction = 56,
	  .owner = 74,
	  .tags = 3,
	  .name = 128,
	  .file = 112,
	  .first_line = 68,
	  .line_table = 136,
	  .bytecode = 208,
	  .locals = 80,
	  .frame = 72,
	  .text = 40,
	  .wide_text = 56 },
	{ .version = 0x030f,
	  .code = 0,
	  .previous = 8,
	  .instruction = 56,
	  .owner = 74,
	  .tags = 3,
	  .name = 128,
	  .file = 112,
	  .first_line = 68,
	  .line_table = 136,
	  .bytecode = 208,
	  .locals = 80,
	  .frame = 72,
	  .text = 40,
	  .wide_text = 56 },
};

/* PY_VERSION_HEX; NULL: a version that was not examined. */
static inline const struct py_layout *py_layout_find(uint32_t version)
{
	for (size_t i = 0; i < sizeof(py_layouts) / sizeof(py_layouts[0]); i++) {
		if (py_layouts[i].version == version >> 16)
			return &py_layouts[i];
	}
	return NULL;
}

/* The same in all of them. */
enum {
	PY_OBJECT_TYPE = 8, /* in an object */

	PY_CELL_VALUE = 16, /* in a cell */

	PY_BYTES_LENGTH = 16, /* in a bytes object */
	PY_BYTES_DATA = 32,

	PY_TEXT_LENGTH = 16, /* in a str: characters */
	PY_TEXT_STATE = 32,  /* bit fields, see py_text_state */

	PY_CHUNK_PREVIOUS = 0, /* in a piece of the stack of frames */
	PY_CHUNK_BYTES = 8,
	PY_CHUNK_DATA = 24,

	PY_FRAME_BYTES = 128, /* no field of a frame that we read lies behind this */

	PY_GIL_HOLDER = 8, /* in the GIL: the thread state that has it, or had it last */
	PY_GIL_LOCKED = 16,
	PY_GIL_SWITCHES = 24, /* how often another thread took it */
	PY_GIL_BYTES = 208,   /* two condition variables and two mutexes are all of it */

	PY_OWNED_BY_GENERATOR = 1,
	PY_OWNED_BY_C_STACK = 3, /* owner of an entry frame without code of its own */
};

/* Of PY_TEXT_STATE: bytes of a character, and whether the characters follow the head directly. */
static inline unsigned py_text_kind(uint32_t state)
{
	return state >> 2 & 7;
}

static inline bool py_text_is_compact(uint32_t state)
{
	return state >> 5 & 1;
}

static inline bool py_text_is_ascii(uint32_t state)
{
	return state >> 6 & 1;
}

#endif
