/* What a step's time was given to, for tests; after cmocka.h. */
#ifndef TESTS_BREAKDOWN_KIT_H
#define TESTS_BREAKDOWN_KIT_H

#include "analyze/analysis.h"

static inline int64_t part(const struct analysis_step *s, enum time_class c)
{
	return s->breakdown.parts[c].ns;
}

static inline void check_sum(const struct step_breakdown *b)
{
	int64_t sum_ns = 0;

	for (size_t i = 0; i < TIME_CLASSES; i++)
		sum_ns += b->parts[i].ns;
	assert_int_equal(sum_ns, b->total_ns);
}

#endif
