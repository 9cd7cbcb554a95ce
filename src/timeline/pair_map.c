#include "timeline/pair_map.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

void pair_map_init(struct pair_map *m)
{
	memset(m, 0, sizeof(*m));
	/* Without randomness the map still works; only crafted keys could slow it down. */
	if (getrandom(&m->seed, sizeof(m->seed), GRND_NONBLOCK) != sizeof(m->seed))
		m->seed = 0x9e3779b97f4a7c15u;
}

void pair_map_release(struct pair_map *m)
{
	free(m->slots);
	m->slots = NULL;
	m->cap = m->count = 0;
}

static size_t home_of(const struct pair_map *m, uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ m->seed) * 0x9e3779b97f4a7c15u;

	h = (h ^ h >> 32 ^ b) * 0xff51afd7ed558ccdu;
	h = (h ^ h >> 33 ^ m->seed) * 0xc4ceb9fe1a85ec53u;
	return (size_t)(h >> 20) & (m->cap - 1);
}

/* The slot of the pair, or the empty one where it would go; there is always one. */
static struct pair_slot *slot_of(const struct pair_map *m, uint64_t a, uint64_t b)
{
	size_t i = home_of(m, a, b);

	while (m->slots[i].value != PAIR_NONE && (m->slots[i].a != a || m->slots[i].b != b))
		i = (i + 1) & (m->cap - 1);
	return &m->slots[i];
}

static int grow(struct pair_map *m)
{
	struct pair_map bigger = { .cap = m->cap ? m->cap * 2 : 64, .seed = m->seed };

	bigger.slots = calloc(bigger.cap, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -1;
	for (size_t i = 0; i < bigger.cap; i++)
		bigger.slots[i].value = PAIR_NONE;
	for (size_t i = 0; i < m->cap; i++)
		if (m->slots[i].value != PAIR_NONE)
			*slot_of(&bigger, m->slots[i].a, m->slots[i].b) = m->slots[i];
	free(m->slots);
	m->slots = bigger.slots;
	m->cap = bigger.cap;
	return 0;
}

size_t pair_map_find(const struct pair_map *m, uint64_t a, uint64_t b)
{
	return m->cap ? slot_of(m, a, b)->value : PAIR_NONE;
}

int pair_map_put(struct pair_map *m, uint64_t a, uint64_t b, size_t value)
{
	struct pair_slot *slot;

	if (m->count * 2 >= m->cap && grow(m))
		return -1;
	slot = slot_of(m, a, b);
	if (slot->value == PAIR_NONE)
		m->count++;
	*slot = (struct pair_slot){ a, b, value };
	return 0;
}

void pair_map_remove(struct pair_map *m, uint64_t a, uint64_t b)
{
	struct pair_slot *hole = m->cap ? slot_of(m, a, b) : NULL;
	size_t i;

	if (!hole || hole->value == PAIR_NONE)
		return;
	m->count--;
	/* Move up what would no longer be found behind the hole. */
	for (i = (size_t)(hole - m->slots + 1) & (m->cap - 1); m->slots[i].value != PAIR_NONE;
	     i = (i + 1) & (m->cap - 1)) {
		size_t home = home_of(m, m->slots[i].a, m->slots[i].b);
		size_t at = (size_t)(hole - m->slots);

		if (((i - home) & (m->cap - 1)) < ((i - at) & (m->cap - 1)))
			continue;
		*hole = m->slots[i];
		hole = &m->slots[i];
	}
	hole->value = PAIR_NONE;
}
