#include "base/idmap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

void idmap_init(struct idmap *m)
{
	memset(m, 0, sizeof(*m));
	if (getrandom(&m->seed, sizeof(m->seed), GRND_NONBLOCK) != sizeof(m->seed))
		m->seed = (uint64_t)(uintptr_t)m * 0x9e3779b97f4a7c15u;
}

void idmap_release(struct idmap *m)
{
	free(m->slots);
	memset(m, 0, sizeof(*m));
}

static size_t home_of(const struct idmap *m, uint32_t id)
{
	uint64_t h = (id ^ m->seed) * 0xff51afd7ed558ccdu;

	h ^= h >> 33;
	h *= 0xc4ceb9fe1a85ec53u;
	return (size_t)(h >> 32) & (m->cap - 1);
}

/* The id's slot, or the empty one where it belongs. */
static struct idmap_slot *slot_for(const struct idmap *m, uint32_t id)
{
	size_t i = home_of(m, id);

	while (m->slots[i].value != IDMAP_NONE && m->slots[i].id != id)
		i = (i + 1) & (m->cap - 1);
	return &m->slots[i];
}

uint32_t idmap_find(const struct idmap *m, uint32_t id)
{
	return m->cap ? slot_for(m, id)->value : IDMAP_NONE;
}

static int grow(struct idmap *m)
{
	struct idmap wider = *m;

	wider.cap = m->cap ? 2 * m->cap : 64;
	wider.slots = malloc(wider.cap * sizeof(*wider.slots));
	if (!wider.slots)
		return -1;
	memset(wider.slots, 0xff, wider.cap * sizeof(*wider.slots)); /* all IDMAP_NONE */
	for (size_t i = 0; i < m->cap; i++) {
		if (m->slots[i].value != IDMAP_NONE)
			*slot_for(&wider, m->slots[i].id) = m->slots[i];
	}
	free(m->slots);
	*m = wider;
	return 0;
}

int idmap_put(struct idmap *m, uint32_t id, uint32_t value)
{
	struct idmap_slot *s;

	if (2 * m->count >= m->cap && grow(m))
		return -1;
	s = slot_for(m, id);
	if (s->value == IDMAP_NONE)
		m->count++;
	s->id = id;
	s->value = value;
	return 0;
}

void idmap_remove(struct idmap *m, uint32_t id)
{
	struct idmap_slot *hole = m->cap ? slot_for(m, id) : NULL;
	size_t mask = m->cap - 1;

	if (!hole || hole->value == IDMAP_NONE)
		return;
	m->count--;
	/* Move up what would no longer be found behind the hole. */
	for (size_t i = (size_t)(hole - m->slots + 1) & mask; m->slots[i].value != IDMAP_NONE;
	     i = (i + 1) & mask) {
		size_t from_home = (i - home_of(m, m->slots[i].id)) & mask;

		if (from_home < ((i - (size_t)(hole - m->slots)) & mask))
			continue;
		*hole = m->slots[i];
		hole = &m->slots[i];
	}
	hole->value = IDMAP_NONE;
}
