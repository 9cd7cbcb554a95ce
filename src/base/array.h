/*
 * Growing arrays.  Header only: growing is one realloc() in a cold branch of a loop that callers
 * need inlined.
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Arrays grow to twice their size; large ones, which the kernel moves without copying, by an
 * eighth. */
#define ARRAY_LARGE_BYTES ((size_t)64 << 20)

/*
 * Makes room for at least `need` items of `bytes` each.  Returns the array,
 * perhaps moved, or NULL when there is no memory; `items` and *cap are then as
 * before and still the caller's.
 */
static inline void *array_grow(void *items, size_t *cap, size_t need, size_t bytes)
{
	size_t want = *cap ? *cap : 16;
	void *grown;

	if (need <= *cap && items)
		return items;
	while (want < need) {
		if (want > SIZE_MAX / 2)
			return NULL;
		want += want > ARRAY_LARGE_BYTES / bytes ? want / 8 + 1 : want;
	}
	if (want > SIZE_MAX / bytes)
		return NULL;
	grown = realloc(items, want * bytes);
	if (grown)
		*cap = want;
	return grown;
}

/* Gives back what an array has room for beyond `count`; it may move. */
static inline void *array_shrink(void *items, size_t *cap, size_t count, size_t bytes)
{
	void *shrunk = count && count < *cap ? realloc(items, count * bytes) : NULL;

	if (shrunk)
		*cap = count;
	return shrunk ? shrunk : items;
}

/* Binary search, where a comparison is one expression and what is asked for is a position. */

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

/*
 * Makes room for one item behind `count`, in an array that grows in no other way: its capacity
 * follows from the count, a power of two.  Likewise NULL.
 */
static inline void *array_grow_by_one(void *items, size_t count, size_t bytes)
{
	if (count & (count - 1))
		return items;
	if (count > SIZE_MAX / 2 / bytes)
		return NULL;
	return realloc(items, (count ? 2 * count : 1) * bytes);
}

#endif
