/* The steps that last at a moment, the one that ends first on top. */
#ifndef ANALYZE_OPEN_STEPS_H
#define ANALYZE_OPEN_STEPS_H

#include "analyze/partition.h"
#include "analyze/step_items.h"

/* Time of each class up to some moment. */
struct class_sums {
	int64_t ns[TIME_CLASSES], sampled_ns[TIME_CLASSES];
	int64_t alone_ns;
};

struct open_step {
	const struct step_item *item;
	struct class_sums sums; /* when it began */
};

struct open_steps {
	struct open_step *items; /* a heap */
	size_t count, cap;
};

void open_steps_release(struct open_steps *o);
int open_steps_push(struct open_steps *o, const struct step_item *item,
		    const struct class_sums *sums); /* -1: no memory */
void open_steps_pop(struct open_steps *o);          /* the first; there is one */

static inline const struct open_step *open_steps_first(const struct open_steps *o)
{
	return o->items;
}

#endif
