/*
 * Code ids to functions.  A function that several processes load, or that is
 * compiled again, has several code ids and one entry here.  Ids are resolved
 * when they are first seen, so a file cannot make the table larger than its
 * events justify.
 */
#ifndef TIMELINE_FUNCTIONS_H
#define TIMELINE_FUNCTIONS_H

#include <stdbool.h>

#include "base/idmap.h"
#include "timeline/timeline.h"

#define FUNCTION_NONE IDMAP_NONE

struct functions {
	const struct trace *trace;
	struct place *items;
	size_t count, cap;
	struct idmap by_id;
	uint32_t *by_identity; /* indices by hash: open addressing, a power of two */
	size_t identity_slots;
	uint64_t unknown; /* ids without a definition */
};

int functions_init(struct functions *f, const struct trace *t); /* -1: no memory */
void functions_release(struct functions *f);

/* An id seen for the first time; FUNCTION_NONE when there is no memory. */
uint32_t functions_add(struct functions *f, uint32_t id);

static inline uint32_t functions_find(struct functions *f, uint32_t id)
{
	uint32_t function = idmap_find(&f->by_id, id);

	return function != IDMAP_NONE ? function : functions_add(f, id);
}

/* Whose code a file is: the user's own, a library's, or InferScope's. */

/*
 * False for what lies in site-packages, dist-packages or the standard library,
 * and for code that has no file because a library made it.  What the user typed,
 * passed with -c or handed to exec() is the user's.
 */
bool user_code(const char *file);

/* True for InferScope's own start-up in the workload, which no list of functions names. */
bool own_code(const char *file);

#endif
