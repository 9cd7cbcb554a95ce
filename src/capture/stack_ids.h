/*
 * Stacks by what they consist of: each is defined once and has an id from then
 * on.  The ids of its functions are unique in a recording, so one table serves
 * all processes.
 */
#ifndef CAPTURE_STACK_IDS_H
#define CAPTURE_STACK_IDS_H

#include <stddef.h>
#include <stdint.h>

#include "capture/py_codes.h"

struct stack_ids { /* by a hash of 64 bits: open addressing */
	struct stack_id {
		uint64_t hash; /* 0: a free slot */
		uint32_t id;
	} * items;
	size_t cap, count;
};

void stack_ids_release(struct stack_ids *s);

/* Innermost first.  0: no frames, or no memory. */
uint32_t stack_ids_find(struct stack_ids *s, const struct py_layout *l,
			const struct py_frame *frames, const uint32_t *codes, size_t count,
			const struct py_definitions *d);

#endif
