/* The writing half of the ring protocol; see ring.h and format/shm.h. */
#include "agent/core/ring.h"

#include <string.h>

#include "agent/core/hot.h"
#include "agent/core/session.h"

_Static_assert(sizeof(((struct shm_block *)0)->words) == RING_CAPACITY, "all of the words");
_Static_assert(sizeof(struct record) == 16, "two words, as ring_push() writes them");
_Static_assert(sizeof(struct record) + RECORD_PAYLOAD_MAX <= RING_CAPACITY, "fits");
_Static_assert(sizeof(struct record) + DEF_PAYLOAD_MAX <= RING_CAPACITY, "fits");

#define NO_BLOCK UINT32_MAX
#define FAIR_SHARE 2u     /* sealed blocks that a thread may fill at the expense of others */
#define RETRY_EVENTS 256u /* a search costs too much to be made for each event */
#define STEAL_ATTEMPTS 8  /* each fails only because another thread succeeded */

size_t ring_bytes(const struct session *s)
{
	return sizeof(struct ring) + sizeof(uint32_t) * s->header->blocks;
}

void ring_init(struct ring *r, struct session *s, uint32_t thread)
{
	memset(r, 0, sizeof(*r));
	r->session = s;
	r->clock = s->header->clock;
	r->thread = thread;
	r->wants_nvtx = s->header->collect & SHM_COLLECT_NVTX;
	r->events.head = RING_CAPACITY;
	r->defs.head = RING_CAPACITY;
	r->order_size = s->header->blocks;
	r->oldest_seq = 1;
	r->name_at = 0; /* the first event of a call is examined */
}

void ring_init_alone(struct ring *r, struct session *s, uint32_t thread)
{
	ring_init(r, s, thread);
	r->alone = true;
}

/* What a block says while we reset it.  No block that is read has this sequence number. */
static uint64_t taken_state(const struct ring *r)
{
	return shm_block_state(SHM_BLOCK_TAKEN, 0, r->thread, 0);
}

/*
 * Takes the lowest free block, whose pages are most likely present already.  The map is a hint
 * where to search; the state decides, so that a block has exactly one owner even if the process is
 * killed at any point.
 */
static uint32_t pool_take(const struct ring *r)
{
	struct session *s = r->session;
	uint32_t words = (s->header->blocks + 63u) / 64u;

	for (uint32_t w = 0; w < words; w++) {
		uint64_t bits = atomic_load_explicit(&s->free_map[w], memory_order_relaxed);

		for (; bits; bits &= bits - 1) {
			uint32_t index = w * 64u + (uint32_t)__builtin_ctzll(bits);
			uint64_t state = SHM_BLOCK_FREE;

			/* Acquire pairs with the release in drain_free_block(): it no longer
			 * reads the block. */
			if (index >= s->header->blocks ||
			    !atomic_compare_exchange_strong_explicit(
				    &s->block_state[index], &state, taken_state(r),
				    memory_order_acquire, memory_order_relaxed))
				continue;
			atomic_fetch_and_explicit(&s->free_map[w], ~(bits & -bits),
						  memory_order_relaxed);
			return index;
		}
	}
	return NO_BLOCK;
}

static uint64_t full_state(const struct ring *r, uint64_t seq)
{
	return shm_block_state(SHM_BLOCK_FULL, 0, r->thread, seq);
}

static void order_drop_oldest(struct ring *r)
{
	r->oldest = r->oldest + 1 == r->order_size ? 0 : r->oldest + 1;
	r->oldest_seq++;
	r->sealed--;
}

/* Forgets the sealed blocks that the recorder has taken. */
static void order_drop_stale(struct ring *r)
{
	while (r->sealed) {
		_Atomic uint64_t *state = &r->session->block_state[r->order[r->oldest]];

		if (atomic_load_explicit(state, memory_order_relaxed) ==
		    full_state(r, r->oldest_seq))
			return;
		order_drop_oldest(r);
	}
}

/*
 * Overflow: our own oldest block, unless the recorder is faster.  Relaxed: what is
 * in the block is ours, and begin() stores with release after this.
 */
static uint32_t take_back_oldest(struct ring *r)
{
	while (r->sealed) {
		uint32_t index = r->order[r->oldest];
		uint64_t expected = full_state(r, r->oldest_seq);

		order_drop_oldest(r);
		if (atomic_compare_exchange_strong_explicit(
			    &r->session->block_state[index], &expected, taken_state(r),
			    memory_order_relaxed, memory_order_relaxed))
			return index;
	}
	return NO_BLOCK;
}

/*
 * The thread with the most sealed event blocks, and how many.  Apart from its callers, for the
 * table would be on the stack at every event that begins a block.
 */
static COLD uint32_t richest_thread(const struct session *s, uint32_t *most)
{
	uint16_t count[SHM_MAX_THREADS] = { 0 };
	uint32_t richest = 0;

	*most = 0;
	for (uint32_t i = 0; i < s->header->blocks; i++) {
		uint64_t state = atomic_load_explicit(&s->block_state[i], memory_order_relaxed);
		uint32_t thread = shm_block_thread(state);

		if (shm_block_phase(state) == SHM_BLOCK_FULL && !(state & SHM_BLOCK_DEFS) &&
		    thread < SHM_MAX_THREADS && ++count[thread] > *most) {
			*most = count[thread];
			richest = thread;
		}
	}
	return richest;
}

/* A thread's oldest sealed event block and its state. */
static uint32_t oldest_block_of(const struct session *s, uint32_t thread, uint64_t *found)
{
	uint64_t oldest = UINT64_MAX;
	uint32_t index = NO_BLOCK;

	for (uint32_t i = 0; i < s->header->blocks; i++) {
		uint64_t state = atomic_load_explicit(&s->block_state[i], memory_order_relaxed);

		if (shm_block_phase(state) == SHM_BLOCK_FULL && !(state & SHM_BLOCK_DEFS) &&
		    shm_block_thread(state) == thread && shm_block_seq(state) < oldest) {
			oldest = shm_block_seq(state);
			*found = state;
			index = i;
		}
	}
	return index;
}

/*
 * Overflow while we have next to nothing: the thread that has most pays, be it
 * of another process, with its oldest block.  Never with definitions.
 */
static uint32_t take_from_the_rich(struct ring *r)
{
	struct session *s = r->session;

	for (int attempt = 0; attempt < STEAL_ATTEMPTS; attempt++) {
		uint32_t most, index, thread = richest_thread(s, &most);
		uint64_t state;

		if (most <= r->sealed)
			return NO_BLOCK;
		index = oldest_block_of(s, thread, &state);
		/* Acquire pairs with seal(): what we write comes after what its thread wrote. */
		if (index != NO_BLOCK && atomic_compare_exchange_strong_explicit(
						 &s->block_state[index], &state, taken_state(r),
						 memory_order_acquire, memory_order_relaxed))
			return index;
	}
	return NO_BLOCK;
}

static void seal(struct ring *r, struct ring_chain *c, uint64_t defs)
{
	if (!c->block)
		return;
	/* Pairs with the acquire in drain_scan(): FULL implies the final head. */
	atomic_store_explicit(&r->session->block_state[c->index],
			      shm_block_state(SHM_BLOCK_FULL, defs, r->thread, c->seq),
			      memory_order_release);
	c->block = NULL;
	c->head = RING_CAPACITY;
}

static void begin(struct ring *r, struct ring_chain *c, uint32_t index, uint64_t defs)
{
	struct shm_block *b = &r->session->blocks[index];

	c->block = b;
	c->index = index;
	c->head = 0;
	c->seq++;
	/*
	 * Ordered before the state below.  If a recorder still copies the previous contents, the
	 * state is TAKEN already, and release makes that visible to it.  Relaxed: a reader that
	 * sees this head copies nothing.
	 */
	atomic_store_explicit(&b->first_index, r->produced, memory_order_release);
	atomic_store_explicit(&b->head, 0, memory_order_relaxed);
	atomic_store_explicit(&r->session->block_begun[index], stamp_now(r->clock),
			      memory_order_relaxed);
	atomic_store_explicit(&r->session->block_state[index],
			      shm_block_state(SHM_BLOCK_WRITING, defs, r->thread, c->seq),
			      memory_order_release);
}

static void order_push(struct ring *r, uint32_t index)
{
	uint32_t at;

	/* All entries in use: the oldest is stale, since no block is in the list twice alive. */
	if (r->sealed == r->order_size)
		order_drop_oldest(r);
	at = r->oldest + r->sealed;
	r->order[at >= r->order_size ? at - r->order_size : at] = index;
	r->sealed++;
}

/* A block to go on with, by the best means there is. */
static uint32_t next_block(struct ring *r)
{
	uint32_t index;

	if (r->produced < r->retry_at)
		return NO_BLOCK;
	order_drop_stale(r);
	index = pool_take(r);
	if (index == NO_BLOCK && r->sealed < FAIR_SHARE)
		index = take_from_the_rich(r);
	if (index == NO_BLOCK)
		index = take_back_oldest(r);
	if (index == NO_BLOCK)
		r->retry_at = r->produced + RETRY_EVENTS;
	return index;
}

_Atomic uint64_t *ring_turn(struct ring *r)
{
	struct shm_thread *self = &r->session->threads[r->thread];
	uint32_t index;

	if (r->alone)
		return NULL;
	if (r->events.block) {
		order_push(r, r->events.index);
		seal(r, &r->events, 0);
		atomic_store_explicit(&self->produced, r->produced, memory_order_relaxed);
	}
	index = next_block(r);
	if (index == NO_BLOCK) {
		r->produced++;
		atomic_store_explicit(&self->produced, r->produced, memory_order_relaxed);
		return NULL;
	}
	begin(r, &r->events, index, 0);
	return r->events.block
		->words; /* every record fits an empty block: see the assertions above */
}

static void put_words(_Atomic uint64_t *w, const uint8_t *bytes, uint32_t n)
{
	while (n) {
		uint64_t word = 0;
		uint32_t part = n < 8 ? n : 8;

		memcpy(&word, bytes, part);
		atomic_store_explicit(w++, word, memory_order_release);
		bytes += part;
		n -= part;
	}
}

/* The same of two parts, as if they were one; not by a copy, for stacks may be small. */
static void put_joined(_Atomic uint64_t *w, const uint8_t *first, uint32_t first_bytes,
		       const uint8_t *second, uint32_t second_bytes)
{
	uint32_t whole = first_bytes & ~7u, rest = first_bytes - whole, filled = 0;
	uint8_t seam[8] = { 0 };

	put_words(w, first, whole);
	if (rest) {
		filled = second_bytes < 8 - rest ? second_bytes : 8 - rest;
		memcpy(seam, first + whole, rest);
		if (filled)
			memcpy(seam + rest, second, filled);
		put_words(w + whole / 8, seam, rest + filled);
		whole += 8;
	}
	if (second_bytes > filled)
		put_words(w + whole / 8, second + filled, second_bytes - filled);
}

HOT void ring_push_late(struct ring *r, uint64_t stamp, uint8_t kind, uint32_t id,
			const void *payload, uint32_t bytes)
{
	_Atomic uint64_t *w;
	uint32_t total;

	if (bytes > RECORD_PAYLOAD_MAX)
		bytes = RECORD_PAYLOAD_MAX;
	total = record_bytes(bytes);
	w = ring_room(r, total);
	if (!w)
		return;
	put_words(w + 2, payload, bytes);
	atomic_store_explicit(&w[0], stamp, memory_order_release);
	atomic_store_explicit(&w[1], ring_second_word(kind, id, bytes), memory_order_release);
	ring_publish(r, total);
}

void ring_push_payload(struct ring *r, uint8_t kind, uint32_t id, const void *payload,
		       uint32_t bytes)
{
	ring_push_late(r, stamp_now(r->clock), kind, id, payload, bytes);
}

static struct shm_process *ring_process(const struct ring *r)
{
	return &r->session->processes[r->session->threads[r->thread].process];
}

bool ring_define(struct ring *r, uint8_t kind, uint32_t id, const void *first, uint32_t first_bytes,
		 const void *second, uint32_t second_bytes)
{
	struct ring_chain *c = &r->defs;
	uint32_t bytes, total;
	_Atomic uint64_t *w;

	if (first_bytes > DEF_PAYLOAD_MAX)
		first_bytes = DEF_PAYLOAD_MAX;
	if (second_bytes > DEF_PAYLOAD_MAX - first_bytes)
		second_bytes = DEF_PAYLOAD_MAX - first_bytes;
	bytes = first_bytes + second_bytes;
	total = record_bytes(bytes);

	if (r->alone)
		return false;
	if (c->head + total > RING_CAPACITY) {
		uint32_t index;

		seal(r, c, SHM_BLOCK_DEFS);
		index = pool_take(r);
		if (index == NO_BLOCK) /* a name is worth more than old events */
			index = take_from_the_rich(r);
		if (index == NO_BLOCK) {
			/* Not session_process(): another thread may be leaving the session. */
			atomic_fetch_add_explicit(&ring_process(r)->defs_lost, 1,
						  memory_order_relaxed);
			return false;
		}
		begin(r, c, index, SHM_BLOCK_DEFS);
	}
	w = &c->block->words[c->head / 8u];
	/* Relaxed: a block of definitions is never taken back from its reader. */
	atomic_store_explicit(&w[0], 0, memory_order_relaxed);
	atomic_store_explicit(&w[1], ring_second_word(kind, id, bytes), memory_order_relaxed);
	put_joined(w + 2, first, first_bytes, second, second_bytes);
	c->head += total;
	/* Pairs with the acquire in drain_copy(). */
	atomic_store_explicit(&c->block->head, c->head, memory_order_release);
	return true;
}

void ring_seal(struct ring *r)
{
	if (r->events.block)
		order_push(r, r->events.index);
	seal(r, &r->events, 0);
	seal(r, &r->defs, SHM_BLOCK_DEFS);
	atomic_store_explicit(&r->session->threads[r->thread].produced, r->produced,
			      memory_order_relaxed);
}
