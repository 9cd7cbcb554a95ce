/*
 * The Python stacks of another process, read from outside while it runs.
 *
 * Nothing is stopped, so a plain walk along the frames of a busy thread meets
 * frames that are left and entered again during the walk: most of the stacks it finds
 * never existed.  Taking only stacks that did not change during the walk would be
 * biased towards slow functions.  So no sample is dropped: what is certain of a stack, its
 * outer frames, is kept, and an innermost one that is not is called unstable.
 *
 *   3.11 and later (py_frame_chunks.c): the frames of a thread lie in memory one
 *   after the other and are copied within some tens of nanoseconds; which of
 *   them runs is seen in the copy.  Generators lie apart (py_frame_generators.c).
 *   3.8 to 3.10 (py_frame_objects.c): frames are objects, linked to their
 *   callers; they are read twice, and those that ran both times are kept.
 *
 * What is read is another program's memory and may be anything: lengths and
 * depths are bounded, a pointer is only ever read through the kernel.
 */
#ifndef CAPTURE_SAMPLER_PY_STACKS_H
#define CAPTURE_SAMPLER_PY_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/sampler/remote.h"
#include "format/py_layout.h"
#include "format/record.h"
#include "format/shm.h"

#define PY_STACK_FRAMES STACK_FRAMES_MAX /* the innermost; the rest of a deeper stack is cut */
#define PY_STACK_CHUNKS 16u
#define PY_THREADS_MAX 500u /* of one process; two pieces of a struct remote each */
#define PY_THREAD_APART 128u
#define PY_THREAD_CFRAMES 4u

struct py_frame {
	uint64_t code;        /* address of the code object */
	uint64_t instruction; /* address, or index: see py_frame_offset() */
};

struct py_stack {
	size_t count;
	bool unstable;                           /* frames[0], or its caller, may be wrong */
	bool cut;                                /* there are more */
	size_t lines;                            /* struct remote's: that were read for it */
	struct py_frame frames[PY_STACK_FRAMES]; /* innermost first */
};

/* A frame that is an object (3.8 to 3.10). */
struct py_met {
	uint64_t at;
	uint64_t code, back; /* in the last sample, if it ran */
	uint8_t age;         /* samples since it was met */
	bool shared;         /* the function that had it last has others, too */
};

/* A frame that lies in no chunk (3.11 and later). */
struct py_apart {
	uint64_t at;
	uint8_t age; /* samples that had no use for it */
	bool entry;  /* of C code: nothing of it is read but its head */
};

/* A thread state, and what is known from its last samples. */
struct py_thread {
	uint64_t state; /* address */
	uint64_t ident; /* its pthread_self() */
	uint64_t top;   /* its newest frame, or (has_cframe) what holds it */
	uint64_t chunk, chunk_top, chunk_end;
	uint64_t only_chunk; /* has none before it, when it was read last */
	uint64_t reach;      /* up to there that chunk was in use in one of the last samples */
	unsigned reach_age;
	uint32_t tid;
	bool has_gil;
	/* Where frames lay that are in no chunk, and what has held the newest frame. */
	unsigned apart_count, cframe_count;
	struct py_apart apart[PY_THREAD_APART];
	uint64_t cframes[PY_THREAD_CFRAMES];
	/* 3.8 to 3.10, in the order of their addresses. */
	unsigned met_count;
	struct py_met met[PY_THREAD_APART];
};

struct py_process {
	struct remote_memory memory;
	const struct py_layout *layout;
	struct shm_python where;
	uint64_t gil_holder; /* a thread state; 0: none, or unknown */
	size_t thread_count;
	struct py_thread *threads; /* newest first */
};

/* Large; one serves all processes, in one thread. */
struct py_reader;
struct py_reader *py_reader_new(void);
void py_reader_free(struct py_reader *r); /* NULL is a no-op */

void py_process_release(struct py_process *p);

/*
 * Reads the list of threads; those that are still there keep what they have learnt,
 * in whatever place.  -1: it cannot be read now; errno says why.
 */
int py_threads_read(struct py_reader *r, struct py_process *p);

/* The stack of one of them.  -1: nothing of it could be made out. */
int py_stack_read(struct py_reader *r, const struct py_process *p, struct py_thread *t,
		  struct py_stack *out);

/*
 * Where a thread is: equal as long as it is in the same call at the same instruction.
 * 0: unknown.  Cheaper than the stack.  *top: the function and the instruction.
 */
uint64_t py_thread_place(const struct py_process *p, const struct py_thread *t,
			 struct py_frame *top);

/* Was the stack read while the thread was there? */
static inline bool py_stack_is_at(const struct py_stack *s, const struct py_frame *top)
{
	return s->count && !s->unstable && s->frames[0].code == top->code &&
	       s->frames[0].instruction == top->instruction;
}

/* Of an instruction, in bytes from the start of its function. */
uint32_t py_frame_offset(const struct py_layout *l, const struct py_frame *f);

#endif
