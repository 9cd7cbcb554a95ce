/* Figures by a key of two numbers that a file chooses, in order of first sight. */
#ifndef ANALYZE_FIGURES_PAIR_TOTALS_H
#define ANALYZE_FIGURES_PAIR_TOTALS_H

#include <stddef.h>
#include <stdint.h>

#include "timeline/pair_map.h"

struct pair_totals {
	struct pair_map at;
	void *items;
	size_t count, cap, bytes_each;
};

void pair_totals_init(struct pair_totals *t, size_t bytes_each);
void pair_totals_release(struct pair_totals *t);

/* The item of a key, cleared when it is new; NULL: no memory.  Valid until the next call. */
void *pair_totals_at(struct pair_totals *t, uint64_t a, uint64_t b);

/*
 * Adds items that are the same by `identity` (as for qsort) up into one.  Keys are
 * of no use afterwards.
 */
void pair_totals_merge(struct pair_totals *t, int (*identity)(const void *, const void *),
		       void (*add)(void *into, const void *from));

/* Sorts, and gives the items to the caller, who frees them. */
void *pair_totals_take(struct pair_totals *t, int (*order)(const void *, const void *),
		       size_t *count);

#endif
