/*
 * Memory that is given back all at once.  Pointers stay valid until
 * arena_release(); there is no way to free a single one.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena_chunk;

struct arena {
	struct arena_chunk *chunks; /* newest first */
	size_t used;                /* bytes taken from the newest */
	size_t total_bytes;         /* of all allocations */
};

void arena_init(struct arena *a);
void arena_release(struct arena *a);

/* Aligned for any type, not cleared; NULL when memory is exhausted. */
void *arena_alloc(struct arena *a, size_t bytes);

#endif
