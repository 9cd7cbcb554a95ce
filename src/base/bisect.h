/* Binary search, where a comparison is one expression and what is asked for is a position. */
#ifndef BASE_BISECT_H
#define BASE_BISECT_H

#include <stddef.h>

/*
 * Moves `at`, a size_t, to the first position of [at, end) for which `before`, an expression of
 * `at`, is false; to `end` where it is true for all.  It must be true up to there and
 * false from there on.
 */
#define BISECT(at, end, before)                           \
	do {                                              \
		size_t low_ = (at), high_ = (end);        \
                                                          \
		while (low_ < high_) {                    \
			(at) = low_ + (high_ - low_) / 2; \
			if (before)                       \
				low_ = (at) + 1;          \
			else                              \
				high_ = (at);             \
		}                                         \
		(at) = low_;                              \
	} while (0)

#endif
