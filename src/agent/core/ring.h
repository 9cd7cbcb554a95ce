/*
 * A thread's ring: the writing half of the protocol in format/shm.h.
 *
 * One writer, the owning thread; no lock, no system call, no allocation.  When
 * the pool is empty the ring takes back its own oldest block, so the newest
 * events are kept and what was overwritten shows as a gap in the numbering.
 */
#ifndef AGENT_CORE_RING_H
#define AGENT_CORE_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "format/record.h"
#include "format/shm.h"
#include "format/stamp.h"

#define FRAMES_MAX 128u /* the innermost; the rest of a deeper stack is cut */

/* Where a thread's frames lay when they were last read: zeros at first. */
struct frames_path {
	unsigned count;
	const char *frames[FRAMES_MAX];
};

struct session;

#define RING_CAPACITY (SHM_BLOCK_BYTES - 64u) /* bytes of records in a block */

/* A thread's name is set a few calls after its first event (agent/python/calls.c). */
#define RING_NAME_FIRST 16u

/* The block being written, of events or of definitions. */
struct ring_chain {
	struct shm_block *block; /* NULL: none could be had */
	uint32_t head;           /* bytes written; RING_CAPACITY when block is NULL */
	uint32_t index;          /* of block */
	uint64_t seq;
};

struct ring {
	struct session *session;
	uint32_t clock;
	uint32_t thread;         /* index of our entry */
	uint64_t produced;       /* event records so far, stored or not */
	uint64_t name_at;        /* calls_prepare_thread() when produced gets here */
	int32_t allowance;       /* events until the next check at the budget: budget.h */
	int32_t lot;             /* what it was at the last one */
	uint32_t cuts;           /* of profile_throttle.h: pauses that this thread has seen */
	bool in_step;            /* the trace knows which functions the thread is in */
	uint32_t decisions_seen; /* of the log in function_throttle.h */
	uint32_t timed;          /* events since then that were timed: budget.h */
	uint32_t event_ps;       /* what one costs here, of late; 0: not known */
	uint64_t timed_ticks;
	uint64_t retry_at; /* no block was available: search again when produced reaches this */
	uint64_t instance, instances_end; /* of scopes: those this thread may still give out */
	struct ring_chain events;
	struct ring_chain defs;
	/* For call_stacks.c.  Here because thread-local memory must stay small: see session.h. */
	struct frames_path path;
	bool wants_nvtx;               /* SHM_COLLECT_NVTX */
	bool alone;                    /* see ring_init_alone() */
	struct nvtx_stack *ranges;     /* of nvtx_ranges.c; NULL: none so far */
	struct layer_stack *layers;    /* of layers.c; likewise */
	struct adapter_scopes *scopes; /* of adapter_torch.c; likewise */

	/* Our sealed event blocks, oldest first; those that were drained since are stale. */
	uint64_t oldest_seq;
	uint32_t oldest, sealed; /* position of the oldest, and how many */
	uint32_t order_size;
	uint32_t order[]; /* block indices, circular */
};

size_t ring_bytes(const struct session *s); /* to allocate */
void ring_init(struct ring *r, struct session *s, uint32_t thread);

/*
 * A ring to measure with: it writes to the block that events.block is set to, private memory, and
 * takes none of the session's.  What does not fit is dropped, and nothing can be defined.
 */
void ring_init_alone(struct ring *r, struct session *s, uint32_t thread);

/* Seals the blocks being written, so that the recorder can take them. */
void ring_seal(struct ring *r);

/*
 * Begins another block and returns its first word; NULL: there is none, and the
 * record is counted as lost.  Only for ring_room().
 */
_Atomic uint64_t *ring_turn(struct ring *r);

static inline void ring_publish(struct ring *r, uint32_t bytes)
{
	r->produced++;
	r->events.head += bytes;
	/* Pairs with the acquire in drain_copy(): the records below head are complete. */
	atomic_store_explicit(&r->events.block->head, r->events.head, memory_order_release);
}

static inline uint64_t ring_second_word(uint8_t kind, uint32_t id, uint32_t payload_bytes)
{
	return (uint64_t)id | (uint64_t)kind << 32 | (uint64_t)payload_bytes << 48;
}

static inline _Atomic uint64_t *ring_room(struct ring *r, uint32_t bytes)
{
	if (__builtin_expect(r->events.head + bytes > RING_CAPACITY, 0))
		return ring_turn(r);
	return &r->events.block->words[r->events.head / 8u];
}

/* An event without payload, of now: no event of this thread came since the stamp was taken. */
static inline void ring_push_at(struct ring *r, uint64_t stamp, uint8_t kind, uint32_t id)
{
	_Atomic uint64_t *w = ring_room(r, sizeof(struct record));

	if (__builtin_expect(!w, 0))
		return;
	/* Release: see "Reading a block" in format/shm.h. */
	atomic_store_explicit(&w[0], stamp, memory_order_release);
	atomic_store_explicit(&w[1], ring_second_word(kind, id, 0), memory_order_release);
	ring_publish(r, sizeof(struct record));
}

static inline void ring_push(struct ring *r, uint8_t kind, uint32_t id)
{
	ring_push_at(r, stamp_now(r->clock), kind, id);
}

/* An event with at most RECORD_PAYLOAD_MAX bytes of payload; more is cut. */
void ring_push_payload(struct ring *r, uint8_t kind, uint32_t id, const void *payload,
		       uint32_t bytes);

/* The same, of something that was at `stamp`: no event of this thread came since. */
void ring_push_late(struct ring *r, uint64_t stamp, uint8_t kind, uint32_t id, const void *payload,
		    uint32_t bytes);

/*
 * A definition, its payload given in two parts that are joined (either may be
 * empty).  False: no room now; the caller must not use the id, and may try again.
 */
bool ring_define(struct ring *r, uint8_t kind, uint32_t id, const void *first, uint32_t first_bytes,
		 const void *second, uint32_t second_bytes);

#endif
