/*
 * Numbers for byte strings: equal ones have one number, the first is 0.  What a file repeats a
 * million times is kept once and referred to by its number.  The hash has a random seed.
 */
#ifndef TIMELINE_KEY_TABLE_H
#define TIMELINE_KEY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define KEY_NONE UINT32_MAX

struct key_entry {
	const uint8_t *key;
	uint32_t bytes, hash;
};

struct key_table {
	struct arena keys;
	struct key_entry *entries; /* by number */
	size_t count, cap;
	uint32_t *slots;   /* numbers; KEY_NONE: free */
	size_t slot_count; /* a power of two, or 0 */
	uint64_t seed;
};

void key_table_init(struct key_table *t);
void key_table_release(struct key_table *t);

/* *added: the key was new.  KEY_NONE: no memory. */
uint32_t key_table_number(struct key_table *t, const void *key, size_t bytes, bool *added);

#endif
