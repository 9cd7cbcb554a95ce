#include "import/build/tables.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/array.h"

#define FIRST_SLOTS 256u

void chunked_init(struct chunked *c, size_t item_bytes)
{
	*c = (struct chunked){ .item_bytes = item_bytes };
}

void chunked_release(struct chunked *c)
{
	for (size_t i = 0; i * CHUNK_ITEMS < c->count; i++)
		free(c->chunks[i]);
	free(c->chunks);
	chunked_init(c, c->item_bytes);
}

void *chunked_add(struct chunked *c)
{
	size_t at = c->count >> CHUNK_ITEMS_LOG2;

	if (!(c->count & (CHUNK_ITEMS - 1))) {
		char **grown = array_grow(c->chunks, &c->chunk_cap, at + 1, sizeof(*grown));

		if (!grown)
			return NULL;
		c->chunks = grown;
		grown[at] = malloc(CHUNK_ITEMS * c->item_bytes);
		if (!grown[at])
			return NULL;
	}
	return chunked_at(c, c->count++);
}

static uint64_t new_seed(void)
{
	uint64_t seed = 0;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed))
		seed = (uint64_t)(uintptr_t)&seed;
	return seed | 1;
}

static uint64_t fold(uint64_t a, uint64_t b)
{
	__extension__ unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#define MIX 0x9e3779b97f4a7c15u

static uint32_t hash_text(uint64_t seed, const char *text, size_t bytes)
{
	uint64_t h = seed ^ bytes, word;

	for (; bytes >= sizeof(word); bytes -= sizeof(word), text += sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		h = fold(h ^ word, seed ^ MIX);
	}
	word = 0;
	memcpy(&word, text, bytes);
	h = fold(h ^ word, seed ^ MIX);
	return (uint32_t)(h ^ h >> 32);
}

void names_init(struct names *n)
{
	*n = (struct names){ .count = 1, .seed = new_seed() };
	arena_init(&n->texts);
}

void names_release(struct names *n)
{
	free(n->items);
	free(n->slots);
	arena_release(&n->texts);
	names_init(n);
}

/* The slot of the text, or the free one where it belongs. */
static size_t name_slot(const struct names *n, uint32_t hash, const char *text, size_t bytes)
{
	size_t at = hash & (n->slot_count - 1);

	for (; n->slots[at]; at = (at + 1) & (n->slot_count - 1)) {
		const struct name *known = &n->items[n->slots[at]];

		if (known->hash == hash && known->bytes == bytes &&
		    !memcmp(known->text, text, bytes))
			break;
	}
	return at;
}

static int names_grow(struct names *n)
{
	size_t want = n->slot_count ? 2 * n->slot_count : FIRST_SLOTS;
	uint32_t *old = n->slots;

	n->slots = calloc(want, sizeof(*n->slots));
	if (!n->slots) {
		n->slots = old;
		return -1;
	}
	n->slot_count = want;
	for (uint32_t id = 1; id < n->count; id++) {
		const struct name *known = &n->items[id];

		n->slots[name_slot(n, known->hash, known->text, known->bytes)] = id;
	}
	free(old);
	return 0;
}

uint32_t names_find(struct names *n, const char *text, size_t bytes)
{
	uint32_t hash = hash_text(n->seed, text, bytes);
	struct name *grown;
	size_t at;
	char *copy;

	if (2 * n->count >= n->slot_count && names_grow(n))
		return 0;
	at = name_slot(n, hash, text, bytes);
	if (n->slots[at])
		return n->slots[at];
	grown = array_grow(n->items, &n->cap, n->count + 1, sizeof(*grown));
	if (!grown)
		return 0;
	n->items = grown;
	copy = bytes < UINT32_MAX ? arena_alloc(&n->texts, bytes + 1) : NULL;
	if (!copy || n->count >= UINT32_MAX)
		return 0;
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';
	grown[n->count] = (struct name){ copy, (uint32_t)bytes, hash };
	n->slots[at] = (uint32_t)n->count;
	return (uint32_t)n->count++;
}

uint32_t names_known(const struct names *n, const char *text, size_t bytes)
{
	if (!n->slot_count)
		return 0;
	return n->slots[name_slot(n, hash_text(n->seed, text, bytes), text, bytes)];
}

void keymap_init(struct keymap *m)
{
	*m = (struct keymap){ .seed = new_seed() };
}

void keymap_release(struct keymap *m)
{
	free(m->slots);
	keymap_init(m);
}

static size_t key_slot(const struct keymap *m, uint64_t key)
{
	size_t at = (size_t)fold(key ^ m->seed, MIX) & (m->slot_count - 1);

	while (m->slots[at].value != KEYMAP_NONE && m->slots[at].key != key)
		at = (at + 1) & (m->slot_count - 1);
	return at;
}

uint32_t keymap_find(const struct keymap *m, uint64_t key)
{
	return m->slot_count ? m->slots[key_slot(m, key)].value : KEYMAP_NONE;
}

static int keymap_grow(struct keymap *m)
{
	struct keymap old = *m;

	m->slot_count = old.slot_count ? 2 * old.slot_count : FIRST_SLOTS;
	m->slots = malloc(m->slot_count * sizeof(*m->slots));
	if (!m->slots) {
		*m = old;
		return -1;
	}
	for (size_t i = 0; i < m->slot_count; i++)
		m->slots[i].value = KEYMAP_NONE;
	for (size_t i = 0; i < old.slot_count; i++)
		if (old.slots[i].value != KEYMAP_NONE)
			m->slots[key_slot(m, old.slots[i].key)] = old.slots[i];
	free(old.slots);
	return 0;
}

int keymap_put(struct keymap *m, uint64_t key, uint32_t value)
{
	size_t at;

	if (2 * m->count >= m->slot_count && keymap_grow(m))
		return -1;
	at = key_slot(m, key);
	m->count += m->slots[at].value == KEYMAP_NONE;
	m->slots[at] = (struct keymap_slot){ key, value };
	return 0;
}
