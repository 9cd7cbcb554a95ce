/* Sentences for the user, in the order in which they were written. */
#ifndef ANALYZE_NOTES_H
#define ANALYZE_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct notes {
	char **items; /* each from malloc() */
	size_t count, cap;
	bool failed; /* out of memory */
};

void notes_add(struct notes *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static inline const char *notes_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

#endif
