/*
 * Growing arrays.  Header only: the growth is one realloc() in a cold branch of
 * a loop that its caller wants inlined.
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

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
		want *= 2;
	}
	if (want > SIZE_MAX / bytes)
		return NULL;
	grown = realloc(items, want * bytes);
	if (grown)
		*cap = want;
	return grown;
}

#endif
