/* Shared by the files that read stacks from outside; no other file includes this. */
#ifndef CAPTURE_SAMPLER_PY_READER_H
#define CAPTURE_SAMPLER_PY_READER_H

#include "capture/sampler/py_stacks.h"

#define READER_MEMORY (512u << 10)
#define STATE_BYTES 320u /* no field of a thread state that we read lies behind */
#define FRAME_SIZES 4096u
#define FRAME_PLACES 4096u
#define READER_ALONE_MAX 64u               /* frames that one sample reads one by one */
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
	size_t bytes; /* of the copy; its values may lie behind */
};

/* Of the frames of a function, in bytes. */
struct frame_size {
	uint64_t code;
	pid_t pid;
	uint32_t bytes;
};

/* What the instruction that a frame is at says about it. */
enum frame_place {
	PLACE_OTHER,
	PLACE_LEAVES,  /* unless it runs, the call is over */
	PLACE_WAITS,   /* likewise, it is a generator's and waits to go on */
	PLACE_RESUMES, /* what it has called may be a generator */
};

struct known_place {
	uint64_t instruction; /* address */
	pid_t pid;
	uint8_t place;     /* enum frame_place */
	uint8_t generator; /* which of the values it runs there, from 1 on; 0: unknown */
	uint8_t misses;
};

/* That a function was called by another one, for certain (3.8 to 3.10). */
struct known_call {
	uint64_t code; /* 0: a free slot */
	pid_t pid;
	struct py_frame back;
	uint64_t back_at; /* the frame that the caller had */
};

/* The frame that a function has in a thread, and whether it has others, too: a recursive one. */
struct known_owner {
	uint64_t thread, code, at;
	uint8_t moves, stays; /* how often it was found elsewhere, and where it was */
};

#define OWNERS 2048u
#define OBJECT_STEPS 104u /* deeper stacks are cut */
#define CALL_SETS 1024u
#define CALL_WAYS 6u

struct py_reader {
	struct remote remote;
	struct piece chunks[PY_STACK_CHUNKS]; /* newest first */
	unsigned chunk_count;
	struct piece again; /* the newest one, copied after all else; no bytes: it was not */
	struct piece apart[PY_THREAD_APART];
	unsigned apart_count;
	struct step steps[READER_STEPS];
	unsigned step_count;
	struct frame_size sizes[FRAME_SIZES]; /* by the address of the code */
	struct known_place places[FRAME_PLACES];
	struct known_owner owners[OWNERS];
	struct known_call calls[CALL_SETS][CALL_WAYS]; /* by the function; newest first */
	size_t used;                                   /* of `memory` */
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

/* A sample of a thread whose frames lie in chunks. */
struct chunk_read {
	struct py_reader *reader;
	const struct py_process *process;
	const struct py_layout *layout;
	struct py_thread *thread;
	uint64_t top;  /* the newest frame, asked for after the chunks; 0: unknown, or */
	bool in_none;  /* there is none: the thread is in C code that no Python called */
	unsigned live; /* steps that are in use, as far as the chunks show */
	bool certain;  /* so far and no farther */
	bool cut;      /* outer frames are missing */
	bool learnt;   /* of frames apart that were not copied with the others */
	unsigned alone;
	size_t lines; /* see struct py_stack */
};

/* Has called no Python function of which it knows; one that has called C code runs. */
static inline bool frame_runs(const struct py_layout *l, const uint8_t *frame)
{
	return (int32_t)remote_word(frame, l->depth) == -1;
}

/* In bytes; 0: unknown, or no code object. */
uint64_t frame_size_of(const struct chunk_read *k, uint64_t code);
struct known_place *known_place_of(const struct chunk_read *k, const uint8_t *frame);
enum frame_place sample_place(const struct chunk_read *k, const uint8_t *frame);
bool reader_add_piece(struct py_reader *r, struct piece *to, uint64_t at, size_t bytes);
bool read_chunks(const struct chunk_read *k, uint64_t at, struct step *out);
void reader_push(struct chunk_read *k, const struct step *s);

/* Those in no chunk; see py_frame_generators.c. */
bool apart_add(struct chunk_read *k);
bool apart_has_generators(const struct py_thread *t); /* or had, in one of its latest samples */
bool apart_link(struct chunk_read *k, uint64_t from, uint64_t to, bool in_use);

/* The frame in a chunk that this link of another one leads to, over those apart; 0: none. */
uint64_t apart_caller(struct chunk_read *k, uint64_t previous);
void apart_end(struct chunk_read *k);
void apart_fade(struct py_thread *t);

/* Frames lie one after the other: 3.11 and later. */
int frame_chunks_read(struct py_reader *r, const struct py_process *p, struct py_thread *t,
		      struct py_stack *out);

#endif
