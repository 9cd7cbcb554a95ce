/* Spans in the order in which a thread's events are written. */
#ifndef IMPORT_BUILD_ORDER_H
#define IMPORT_BUILD_ORDER_H

#include "import/build/build_tables.h"

#define ORDER_END (1u << 31) /* set in `span`: the end of a scope, which may overlap others */

struct order_item {
	int64_t time_ns;
	uint32_t span; /* for build_span() */
	uint32_t run;  /* private */
};

/*
 * The items of all threads, those of thread i from *first[i] up to *first[i + 1].  The array is
 * one allocation; so is `first`, of thread_count + 1 positions.
 */
struct order {
	struct order_item *items;
	size_t *first;
};

int order_new(struct order *o, const struct build *b); /* -1: no memory, nothing to release */
void order_release(struct order *o);

/* Puts the items of one thread in order; `room` holds as many. */
void order_sort(const struct build *b, struct order_item *items, size_t n, struct order_item *room);

/* Positions of device work, in order of process and start.  NULL: no memory. */
uint32_t *order_activities(const struct build *b);

#endif
