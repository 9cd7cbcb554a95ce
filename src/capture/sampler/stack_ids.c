#include "capture/sampler/sampler_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/varint.h"
#include "format/record.h"

#define FIRST_SLOTS 4096u
#define SLOTS_MAX (1u << 20) /* then it is emptied: some stacks are defined twice */

void stack_ids_release(struct stack_ids *s)
{
	free(s->items);
	memset(s, 0, sizeof(*s));
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9fb21c651e98df25ull;
	return hash ^ hash >> 29;
}

static struct stack_id *slot_of(struct stack_id *items, size_t cap, uint64_t hash)
{
	size_t at = (size_t)(hash >> 20) & (cap - 1);

	while (items[at].hash && items[at].hash != hash)
		at = (at + 1) & (cap - 1);
	return &items[at];
}

static int grow(struct stack_ids *s)
{
	size_t cap = s->cap ? 2 * s->cap : FIRST_SLOTS;
	struct stack_id *items;

	if (cap > SLOTS_MAX) {
		memset(s->items, 0, s->cap * sizeof(*s->items));
		s->count = 0;
		return 0;
	}
	items = calloc(cap, sizeof(*items));
	if (!items)
		return -1;
	for (size_t i = 0; i < s->cap; i++) {
		if (s->items[i].hash)
			*slot_of(items, cap, s->items[i].hash) = s->items[i];
	}
	free(s->items);
	s->items = items;
	s->cap = cap;
	return 0;
}

uint32_t stack_ids_find(struct stack_ids *s, const struct py_layout *l,
			const struct py_frame *frames, const uint32_t *codes, size_t count,
			const struct py_definitions *d)
{
	uint8_t payload[PY_STACK_FRAMES * 2 * 5];
	uint64_t hash = count;
	struct stack_id *slot;
	size_t bytes = 0;

	if (!count || (2 * (s->count + 1) > s->cap && grow(s)))
		return 0;
	for (size_t i = 0; i < count; i++) {
		uint32_t offset = py_frame_offset(l, &frames[i]);

		hash = mix(hash, (uint64_t)codes[i] << 32 | offset);
		bytes += varint_put(payload + bytes, codes[i]);
		bytes += varint_put(payload + bytes, offset);
	}
	hash |= 1;
	slot = slot_of(s->items, s->cap, hash);
	if (!slot->hash) {
		slot->hash = hash;
		slot->id = d->next_id(d->context);
		s->count++;
		d->define(d->context, DEF_STACK, slot->id, payload, bytes);
	}
	return slot->id;
}
