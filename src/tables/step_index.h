/* Which step a thread was in at a moment: of the first kind of steps of its process. */
#ifndef TABLES_STEP_INDEX_H
#define TABLES_STEP_INDEX_H

#include "analyze/analysis.h"

struct step_index {
	const struct step_items *items;
	struct step_ref {
		uint32_t thread; /* position */
		uint32_t item;
		int64_t start_ns, end_ns;
		int64_t latest_ns; /* the latest end up to here in the thread */
	} * refs;                  /* by thread, start */
	size_t count;
};

/* -1: no memory; release it nevertheless. */
int step_index_init(struct step_index *x, const struct analysis *a);
void step_index_release(struct step_index *x);

#define STEP_INDEX_NONE SIZE_MAX
/* The latest that began; STEP_INDEX_NONE: it was in none.  An index of the step_items. */
size_t step_index_at(const struct step_index *x, size_t thread, int64_t time_ns);

#endif
