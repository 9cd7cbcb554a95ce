/* What the files that read stacks from outside share; nobody else includes this. */
#ifndef CAPTURE_PY_READER_H
#define CAPTURE_PY_READER_H

#include "capture/py_stacks.h"

#define READER_MEMORY (512u << 10)
#define STATE_BYTES 320u /* no field of a thread state that we read lies behind */
#define FRAME_SIZES 4096u
#define READER_STEPS (2 * PY_STACK_FRAMES) /* entry frames of C code are among them */

/* A piece of the workload's memory, copied. */
struct piece {
	uint64_t at;
	size_t bytes;
	const uint8_t *copy;
};

/* A frame on the way through a stack. */
struct step {
	uint64_t at;
	const uint8_t *copy;
};

/* Of the frames of a function, in bytes. */
struct frame_size {
	uint64_t code;
	pid_t pid;
	uint32_t bytes;
};

struct py_reader {
	struct remote remote;
	struct piece chunks[PY_STACK_CHUNKS]; /* newest first */
	unsigned chunk_count;
	struct piece apart[PY_THREAD_APART];
	const uint8_t *apart_before[PY_THREAD_APART]; /* the same, copied before all else */
	unsigned apart_count;
	struct step steps[READER_STEPS];
	unsigned step_count;
	struct frame_size sizes[FRAME_SIZES]; /* by the address of the code */
	size_t used;                          /* of `memory` */
	uint8_t memory[READER_MEMORY];
	uint8_t states[PY_THREADS_MAX][STATE_BYTES];
};

/* Room for a copy, until the next stack; NULL: all is used. */
uint8_t *reader_memory(struct py_reader *r, size_t bytes);

/* Of a frame: up to the last field that is read. */
static inline size_t frame_bytes(const struct py_layout *l)
{
	return l->state ? l->state + 1u : 80u;
}

static inline uint64_t frame_previous(const struct py_layout *l, const uint8_t *frame)
{
	return remote_word(frame, l->previous);
}

static inline uint64_t frame_code(const struct py_layout *l, const uint8_t *frame)
{
	return remote_word(frame, l->code) & ~(uint64_t)l->tags;
}

/* It stands for C code that has called Python, and runs nothing itself. */
static inline bool frame_is_entry(const struct py_layout *l, const uint8_t *frame)
{
	return l->owner && frame[l->owner] == PY_OWNED_BY_C_STACK;
}

/* Puts a frame behind (that is, around) those that are there. */
void stack_add(struct py_stack *out, const struct py_layout *l, const uint8_t *frame);

/* Frames are objects: CPython 3.8 to 3.10. */
int frame_objects_read(struct py_reader *r, const struct py_process *p, struct py_thread *t,
		       struct py_stack *out);

/* Frames lie one after the other: 3.11 and later. */
int frame_chunks_read(struct py_reader *r, const struct py_process *p, struct py_thread *t,
		      struct py_stack *out);

#endif
