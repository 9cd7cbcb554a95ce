/* "Did you mean": the known word nearest to a mistyped one. */
#ifndef CLI_SUGGEST_H
#define CLI_SUGGEST_H

#include <stddef.h>

struct suggest {
	const char *typed;
	const char *best; /* borrowed from a candidate; NULL: nothing is near enough */
	size_t distance;
};

void suggest_init(struct suggest *g, const char *typed);
void suggest_push(struct suggest *g, const char *candidate); /* NULL is a no-op */

#endif
