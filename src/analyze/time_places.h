/*
 * Places in the code that time was spent at, numbered as they come; what was spent
 * there is counted by whoever asked for the number.
 */
#ifndef ANALYZE_TIME_PLACES_H
#define ANALYZE_TIME_PLACES_H

#include "analyze/analysis.h"
#include "timeline/pair_map.h"
#include "timeline/timeline.h"

struct time_place {
	enum time_class what : 8;
	uint32_t stack;       /* id; 0: only functions are known */
	uint32_t user, inner; /* indices of functions; NO_FUNCTION */
	uint32_t waited_for;  /* stack id of another thread; 0: unknown */
};

#define PLACES_RECENT 256u /* a power of two */

struct time_places {
	struct time_place *items;
	size_t count, cap;
	struct pair_map at;
	size_t recent[PLACES_RECENT]; /* number + 1 of one that was asked for; 0: none */
};

void time_places_init(struct time_places *p);
void time_places_release(struct time_places *p);

/* SIZE_MAX: no memory. */
size_t time_places_find(struct time_places *p, const struct time_place *wanted);

/* The place by its names; the analysis has its waits. */
struct time_cause time_place_name(const struct time_place *p, const struct analysis *a,
				  const struct timeline *tl);

/* By class, then by where; 0: they are the same cause. */
int time_cause_compare(const struct time_cause *x, const struct time_cause *y);
/* By what was called then, whatever its line; 0: the same cause by the same function. */
int time_cause_compare_called(const struct time_cause *x, const struct time_cause *y);
/*
 * For qsort(), total orders: by what was called, or by the cause, the most time first among equals;
 * the most time first.
 */
int time_cause_called(const void *a, const void *b);
int time_cause_identity(const void *a, const void *b);
int time_cause_order(const void *a, const void *b);

#endif
