/*
 * The tables of an importer: items in the order in which they came, texts that are kept once, and
 * numbers found by 64-bit keys.  Keys and texts come from files, so both maps hash with a random
 * seed.  -1, NULL or 0: no memory.
 */
#ifndef IMPORT_TABLES_H
#define IMPORT_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define CHUNK_ITEMS_LOG2 12
#define CHUNK_ITEMS ((size_t)1 << CHUNK_ITEMS_LOG2)

/* Items of one size that never move: growing needs no second copy of them all. */
struct chunked {
	char **chunks;
	size_t chunk_cap;
	size_t count;
	size_t item_bytes;
};

void chunked_init(struct chunked *c, size_t item_bytes);
void chunked_release(struct chunked *c);
void *chunked_add(struct chunked *c); /* not cleared */

static inline void *chunked_at(const struct chunked *c, size_t i)
{
	return c->chunks[i >> CHUNK_ITEMS_LOG2] + (i & (CHUNK_ITEMS - 1)) * c->item_bytes;
}

/* Every text once, numbered from 1. */
struct name {
	const char *text; /* NUL-terminated, any bytes */
	uint32_t bytes;
	uint32_t hash;
};

struct names {
	struct name *items; /* [0] is unused */
	size_t count, cap;
	uint32_t *slots; /* open addressing; 0: free */
	size_t slot_count;
	uint64_t seed;
	struct arena texts;
};

void names_init(struct names *n);
void names_release(struct names *n);
uint32_t names_find(struct names *n, const char *text, size_t bytes);        /* adds what is new */
uint32_t names_known(const struct names *n, const char *text, size_t bytes); /* 0: it is new */

static inline const char *names_text(const struct names *n, uint32_t id)
{
	return id && id < n->count ? n->items[id].text : "";
}

/* Keys to numbers. */
#define KEYMAP_NONE UINT32_MAX

struct keymap_slot {
	uint64_t key;
	uint32_t value; /* KEYMAP_NONE: free */
};

struct keymap {
	struct keymap_slot *slots;
	size_t slot_count, count;
	uint64_t seed;
};

void keymap_init(struct keymap *m);
void keymap_release(struct keymap *m);
uint32_t keymap_find(const struct keymap *m, uint64_t key);
int keymap_put(struct keymap *m, uint64_t key, uint32_t value); /* replaces */

#endif
