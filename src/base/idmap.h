/*
 * A map from 32-bit ids to 32-bit positions.  Ids come from files and may be
 * sparse or chosen to collide, so it takes memory for the ids it holds only
 * and hashes them with a random seed.
 */
#ifndef BASE_IDMAP_H
#define BASE_IDMAP_H

#include <stddef.h>
#include <stdint.h>

#define IDMAP_NONE UINT32_MAX /* not a value that can be stored */

struct idmap_slot {
	uint32_t id;
	uint32_t value;
};

struct idmap {
	struct idmap_slot *slots;
	size_t cap; /* a power of two, or 0 */
	size_t count;
	uint64_t seed;
};

void idmap_init(struct idmap *m);
void idmap_release(struct idmap *m);

uint32_t idmap_find(const struct idmap *m, uint32_t id);     /* IDMAP_NONE where it is absent */
int idmap_put(struct idmap *m, uint32_t id, uint32_t value); /* replaces; -1: no memory */
void idmap_remove(struct idmap *m, uint32_t id);             /* absent: a no-op */

#endif
