#include "agent/core/intern.h"

#include <stdbool.h>

#include "agent/core/hot.h"
#include "agent/core/session.h"

#define PROBES 64u

/*
 * A new recording, or no room: start over.  Racing finders define a thing twice at worst.  Of a
 * table that never was in use no page is touched: it is zeros.
 */
static void empty(struct intern *t)
{
	bool used = atomic_load_explicit(&t->epoch, memory_order_relaxed) != 0;

	for (uint32_t i = 0; used && i < t->size; i++) {
		atomic_store_explicit(&t->slots[i].hash, 0, memory_order_relaxed);
		atomic_store_explicit(&t->slots[i].id, 0, memory_order_relaxed);
	}
	atomic_store_explicit(&t->used, 0, memory_order_relaxed);
	/* Pairs with the acquire in intern_find(): the ids of another recording are gone. */
	atomic_store_explicit(&t->epoch, session_epoch, memory_order_release);
}

static uint64_t id_word(uint64_t hash, uint32_t id)
{
	return hash << 32 | id;
}

/* The id in a word, if it is for this hash; else 0. */
static uint32_t id_for(uint64_t hash, uint64_t word)
{
	return word >> 32 == (uint32_t)hash ? (uint32_t)word : 0;
}

static bool is_current(const struct intern *t)
{
	return atomic_load_explicit(&t->epoch, memory_order_acquire) == session_epoch;
}

static struct intern_slot *slot_of(const struct intern *t, uint64_t hash, uint32_t nth)
{
	return &t->slots[((uint32_t)(hash >> 40) + nth) & (t->size - 1)];
}

HOT uint32_t intern_find(struct intern *t, uint64_t hash)
{
	hash |= 1;
	if (!is_current(t))
		return 0;
	for (uint32_t n = 0; n < PROBES; n++) {
		struct intern_slot *slot = slot_of(t, hash, n);
		uint64_t found = atomic_load_explicit(&slot->hash, memory_order_acquire);

		if (found == hash)
			return id_for(hash, atomic_load_explicit(&slot->id, memory_order_acquire));
		if (!found)
			return 0;
	}
	return 0;
}

void intern_put(struct intern *t, uint64_t hash, uint32_t id)
{
	hash |= 1;
	if (!is_current(t) ||
	    atomic_load_explicit(&t->used, memory_order_relaxed) > t->size / 4 * 3)
		empty(t);
	for (uint32_t n = 0; n < PROBES; n++) {
		struct intern_slot *slot = slot_of(t, hash, n);
		uint64_t there = 0;

		if (atomic_compare_exchange_strong_explicit(&slot->hash, &there, hash,
							    memory_order_acq_rel,
							    memory_order_acquire)) {
			atomic_fetch_add_explicit(&t->used, 1, memory_order_relaxed);
			there = hash;
		}
		if (there == hash) {
			/* Pairs with the acquire in intern_find(): the id is defined. */
			if (!id_for(hash, atomic_load_explicit(&slot->id, memory_order_acquire)))
				atomic_store_explicit(&slot->id, id_word(hash, id),
						      memory_order_release);
			return;
		}
	}
	/*
	 * Crowded.  Threads that empty the table at the same time may leave the count too low, and
	 * then it would stay crowded: some dozens of these empty it again.
	 */
	atomic_fetch_add_explicit(&t->used, t->size / 64, memory_order_relaxed);
}
