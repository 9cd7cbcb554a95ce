/* Figures by a key of two numbers that a file chooses, in order of first sight. */
#ifndef ANALYZE_GPU_TALLY_H
#define ANALYZE_GPU_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "timeline/pair_map.h"

struct gpu_tally {
	struct pair_map at;
	void *items;
	size_t count, cap, bytes_each;
};

void gpu_tally_init(struct gpu_tally *t, size_t bytes_each);
void gpu_tally_release(struct gpu_tally *t);

/* The item of a key, cleared when it is new; NULL: no memory.  Valid until the next call. */
void *gpu_tally_at(struct gpu_tally *t, uint64_t a, uint64_t b);

/*
 * Adds items that are the same by `identity` (as for qsort) up into one.  Keys are
 * of no use afterwards.
 */
void gpu_tally_fold(struct gpu_tally *t, int (*identity)(const void *, const void *),
		    void (*add)(void *into, const void *from));

/* Sorts, and gives the items to the caller, who frees them. */
void *gpu_tally_take(struct gpu_tally *t, int (*order)(const void *, const void *), size_t *count);

#endif
