#include "timeline/key_table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/array.h"

void key_table_init(struct key_table *t)
{
	memset(t, 0, sizeof(*t));
	arena_init(&t->keys);
	/* Without randomness the table still works; only crafted keys could slow it down. */
	if (getrandom(&t->seed, sizeof(t->seed), GRND_NONBLOCK) != sizeof(t->seed))
		t->seed = 0x9e3779b97f4a7c15u;
}

void key_table_release(struct key_table *t)
{
	arena_release(&t->keys);
	free(t->entries);
	free(t->slots);
	memset(t, 0, sizeof(*t));
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint32_t hash_of(const struct key_table *t, const uint8_t *key, size_t bytes)
{
	uint64_t h = t->seed ^ bytes, word;

	for (; bytes >= sizeof(word); key += sizeof(word), bytes -= sizeof(word)) {
		memcpy(&word, key, sizeof(word));
		h = mix(h ^ word, 0x9e3779b97f4a7c15u ^ t->seed);
	}
	word = 0;
	memcpy(&word, key, bytes);
	h = mix(h ^ word, 0xd6e8feb86659fd93u);
	return (uint32_t)(h ^ h >> 32);
}

static int grow(struct key_table *t)
{
	size_t slot_count = t->slot_count ? t->slot_count * 2 : 64;
	uint32_t *slots = malloc(slot_count * sizeof(*slots));

	if (!slots)
		return -1;
	memset(slots, 0xff, slot_count * sizeof(*slots));
	for (size_t i = 0; i < t->count; i++) {
		size_t at = t->entries[i].hash & (slot_count - 1);

		while (slots[at] != KEY_NONE)
			at = (at + 1) & (slot_count - 1);
		slots[at] = (uint32_t)i;
	}
	free(t->slots);
	t->slots = slots;
	t->slot_count = slot_count;
	return 0;
}

static uint32_t add(struct key_table *t, size_t slot, const struct key_entry *entry)
{
	struct key_entry *grown;
	uint8_t *key;

	if (t->count >= KEY_NONE)
		return KEY_NONE;
	grown = array_grow(t->entries, &t->cap, t->count + 1, sizeof(*grown));
	if (!grown)
		return KEY_NONE;
	t->entries = grown;
	key = arena_alloc(&t->keys, entry->bytes + 1);
	if (!key)
		return KEY_NONE;
	memcpy(key, entry->key, entry->bytes);
	grown[t->count] = *entry;
	grown[t->count].key = key;
	t->slots[slot] = (uint32_t)t->count;
	return (uint32_t)t->count++;
}

uint32_t key_table_number(struct key_table *t, const void *key, size_t bytes, bool *added)
{
	const struct key_entry wanted = { key, (uint32_t)bytes, hash_of(t, key, bytes) };
	size_t at;

	*added = false;
	if (t->count * 2 >= t->slot_count && grow(t))
		return KEY_NONE;
	at = wanted.hash & (t->slot_count - 1);
	for (; t->slots[at] != KEY_NONE; at = (at + 1) & (t->slot_count - 1)) {
		const struct key_entry *e = &t->entries[t->slots[at]];

		if (e->hash == wanted.hash && e->bytes == bytes && !memcmp(e->key, key, bytes))
			return t->slots[at];
	}
	*added = true;
	return add(t, at, &wanted);
}
