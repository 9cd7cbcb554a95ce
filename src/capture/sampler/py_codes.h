/*
 * The code objects of another process by their address: name, file, line table,
 * read from outside when an address is first met.
 *
 * There is no sign of a code object that is freed and its memory reused: what is
 * known of an address is verified again from time to time.
 */
#ifndef CAPTURE_SAMPLER_PY_CODES_H
#define CAPTURE_SAMPLER_PY_CODES_H

#include <stdint.h>

#include "base/buf.h"
#include "capture/sampler/py_stacks.h"

struct py_code;

struct py_codes {
	struct py_code *items; /* by hash of the address: open addressing */
	size_t cap, count;
};

/* Where definitions go; see format/record.h. */
struct py_definitions {
	void *context;
	uint32_t (*next_id)(void *context);
	void (*define)(void *context, uint8_t kind, uint32_t id, const void *payload, size_t bytes);
};

void py_codes_init(struct py_codes *c);
void py_codes_release(struct py_codes *c);

/*
 * The ids of a stack's functions, 0 where there is no code object.  `now_ns` is any
 * clock.  -1: no memory.
 */
int py_codes_find(struct py_codes *c, const struct py_process *p, const struct py_stack *stack,
		  uint32_t ids[PY_STACK_FRAMES], int64_t now_ns, const struct py_definitions *d);

#endif
