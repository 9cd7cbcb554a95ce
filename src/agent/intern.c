#include "agent/intern.h"

#include "agent/session.h"

#define PROBES 64u

/* A new recording, or no room: start over.  Racing finders define a thing twice at worst. */
static void empty(struct intern *t)
{
	for (uint32_t i = 0; i < INTERN_SLOTS; i++) {
		atomic_store_explicit(&t->slots[i].hash, 0, memory_order_relaxed);
		atomic_store_explicit(&t->slots[i].id, 0, memory_order_relaxed);
	}
	atomic_store_explicit(&t->used, 0, memory_order_relaxed);
	t->epoch = session_epoch;
}

uint32_t intern_find(struct intern *t, uint64_t hash)
{
	hash |= 1;
	if (t->epoch != session_epoch)
		return 0;
	for (uint32_t n = 0; n < PROBES; n++) {
		uint32_t at = (uint32_t)(hash >> 40) + n;
		uint64_t found = atomic_load_explicit(&t->slots[at % INTERN_SLOTS].hash,
						      memory_order_acquire);

		if (found == hash)
			return atomic_load_explicit(&t->slots[at % INTERN_SLOTS].id,
						    memory_order_acquire);
		if (!found)
			return 0;
	}
	return 0;
}

void intern_put(struct intern *t, uint64_t hash, uint32_t id)
{
	hash |= 1;
	if (t->epoch != session_epoch ||
	    atomic_load_explicit(&t->used, memory_order_relaxed) > INTERN_SLOTS / 4 * 3)
		empty(t);
	for (uint32_t n = 0; n < PROBES; n++) {
		uint32_t at = ((uint32_t)(hash >> 40) + n) % INTERN_SLOTS;
		uint64_t unused = 0;

		if (atomic_compare_exchange_strong_explicit(&t->slots[at].hash, &unused, hash,
							    memory_order_acq_rel,
							    memory_order_acquire)) {
			atomic_store_explicit(&t->slots[at].id, id, memory_order_release);
			atomic_fetch_add_explicit(&t->used, 1, memory_order_relaxed);
			return;
		}
		if (unused == hash)
			return;
	}
}
