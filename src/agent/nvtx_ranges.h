/*
 * NVTX ranges and marks on the timeline.
 *
 * Any thread, no lock; a call allocates only for a name, or in a thread, that was not
 * seen before.  While nothing is recorded it is two loads and a branch (wide names are
 * converted first).
 */
#ifndef AGENT_NVTX_RANGES_H
#define AGENT_NVTX_RANGES_H

#include <stdbool.h>

#include "agent/nvtx_abi.h"
#include "agent/nvtx_names.h"

/* The calling thread's ring; NULL: nothing is recorded, or no ranges are. */
struct ring *nvtx_ring(void);

/* Attributes may be NULL or of another version: do they have all fields that we know? */
static inline bool nvtx_has_message(const struct nvtx_attributes *a)
{
	return a && a->bytes >= offsetof(struct nvtx_attributes, message) + sizeof(a->message);
}

/*
 * As NVTX defines them: push and pop return the level of the range among those of its
 * domain (a number of nvtx_names.h) or something negative.  Of the attributes only the payload is
 * read.
 */
int nvtx_push(const struct nvtx_event *e, const struct nvtx_attributes *a);
int nvtx_pop(uint32_t domain);
uint64_t nvtx_start(const struct nvtx_event *e, const struct nvtx_attributes *a);
void nvtx_end(uint64_t range);
void nvtx_mark(const struct nvtx_event *e, const struct nvtx_attributes *a);

/* In the child of a fork: ranges that its parent started are not this process's to end. */
void nvtx_ranges_forked(void);

#endif
