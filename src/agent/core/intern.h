/*
 * From a 64-bit hash of something to the id it was given.  Any thread, no lock.
 *
 * A full table is emptied: what was in it is then defined again under another
 * id, which costs a few bytes and is right all the same.
 */
#ifndef AGENT_CORE_INTERN_H
#define AGENT_CORE_INTERN_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct intern_slot {
	_Atomic uint64_t hash; /* 0: free */
	/*
	 * The id, and above it the low half of the hash that it is for.  They
	 * differ: its finder is about to say, or a slow one said it of a hash
	 * that was here before the table was emptied.
	 */
	_Atomic uint64_t id;
};

struct intern {
	_Atomic uint32_t epoch; /* the recording that the ids belong to */
	_Atomic uint32_t used;
	uint32_t size;
	struct intern_slot *slots;
};

/* A static table of so many slots, a power of two: a quarter of them stays free. */
#define INTERN(name, slots_count)                            \
	static struct intern_slot name##_slots[slots_count]; \
	static struct intern name = { .size = (slots_count), .slots = name##_slots }

#define INTERN_SLOTS 65536u

/* The id, or 0: not there (or not yet). */
uint32_t intern_find(struct intern *t, uint64_t hash);

/* Stores an id; a no-op if another thread has stored it already. */
void intern_put(struct intern *t, uint64_t hash, uint32_t id);

/* A hash that depends on every word put in, in order; never 0 in the end. */
static inline uint64_t intern_mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9fb21c651e98df25ull;
	return hash ^ hash >> 29;
}

/* ... of bytes: a few nanoseconds for a name of usual length. */
static inline uint64_t intern_mix_bytes(uint64_t hash, const char *bytes, size_t n)
{
	uint64_t word;

	for (hash ^= n; n >= sizeof(word); n -= sizeof(word), bytes += sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		hash = intern_mix(hash, word);
	}
	word = 0;
	memcpy(&word, bytes, n);
	return intern_mix(hash, word);
}

#endif
