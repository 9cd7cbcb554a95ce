/*
 * A map from two numbers to an index, for keys that a file chooses: it hashes
 * with a random seed and takes memory for what it holds only.
 */
#ifndef TIMELINE_PAIR_MAP_H
#define TIMELINE_PAIR_MAP_H

#include <stddef.h>
#include <stdint.h>

#define PAIR_NONE SIZE_MAX /* not a value that can be stored */

struct pair_slot {
	uint64_t a, b;
	size_t value;
};

struct pair_map {
	struct pair_slot *slots;
	size_t cap; /* a power of two, or 0 */
	size_t count;
	uint64_t seed;
};

void pair_map_init(struct pair_map *m);
void pair_map_release(struct pair_map *m);

size_t pair_map_find(const struct pair_map *m, uint64_t a, uint64_t b);     /* PAIR_NONE: absent */
int pair_map_put(struct pair_map *m, uint64_t a, uint64_t b, size_t value); /* -1: no memory */
void pair_map_remove(struct pair_map *m, uint64_t a, uint64_t b);           /* absent: a no-op */

#endif
