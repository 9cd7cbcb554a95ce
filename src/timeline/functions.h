/*
 * Code ids to functions.  A function that several processes load, or that is
 * compiled again, has several code ids and one entry here.  Ids are resolved
 * when they are first seen, so a file cannot make the table larger than its
 * events justify.
 */
#ifndef TIMELINE_FUNCTIONS_H
#define TIMELINE_FUNCTIONS_H

#include "timeline/timeline.h"

#define FUNCTION_NONE UINT32_MAX

struct function_id {
	uint32_t id;
	uint32_t function; /* FUNCTION_NONE: an empty slot */
};

struct functions {
	const struct trace *trace;
	struct function *items;
	size_t count, cap;
	struct function_id *by_id; /* open addressing, a power of two */
	size_t ids, id_slots;
	uint32_t *by_identity; /* the same, of indices */
	size_t identity_slots;
	uint64_t unknown; /* ids without a definition */
};

int functions_init(struct functions *f, const struct trace *t); /* -1: no memory */
void functions_release(struct functions *f);

/* An id seen for the first time; FUNCTION_NONE when there is no memory. */
uint32_t functions_add(struct functions *f, uint32_t id);

static inline size_t functions_slot(const struct functions *f, uint32_t id)
{
	return (size_t)(id * 0x9e3779b1u) & (f->id_slots - 1);
}

static inline uint32_t functions_find(struct functions *f, uint32_t id)
{
	size_t i = functions_slot(f, id);

	while (f->by_id[i].function != FUNCTION_NONE) {
		if (f->by_id[i].id == id)
			return f->by_id[i].function;
		i = (i + 1) & (f->id_slots - 1);
	}
	return functions_add(f, id);
}

#endif
