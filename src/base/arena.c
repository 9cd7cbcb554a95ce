#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)64 << 10)

struct arena_chunk {
	struct arena_chunk *next;
	size_t cap;
	alignas(max_align_t) char data[];
};

void arena_init(struct arena *a)
{
	memset(a, 0, sizeof(*a));
}

void arena_release(struct arena *a)
{
	while (a->chunks) {
		struct arena_chunk *next = a->chunks->next;

		free(a->chunks);
		a->chunks = next;
	}
	arena_init(a);
}

void *arena_alloc(struct arena *a, size_t bytes)
{
	const size_t align = alignof(max_align_t);
	struct arena_chunk *c = a->chunks;
	void *at;

	if (bytes > SIZE_MAX / 2)
		return NULL;
	bytes = (bytes + align - 1) & ~(align - 1);
	if (!c || c->cap - a->used < bytes) {
		size_t cap = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;

		c = malloc(sizeof(*c) + cap);
		if (!c)
			return NULL;
		c->cap = cap;
		c->next = a->chunks;
		a->chunks = c;
		a->used = 0;
	}
	at = c->data + a->used;
	a->used += bytes;
	a->total_bytes += bytes;
	return at;
}
