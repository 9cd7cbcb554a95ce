/* strcmp() for texts that may be missing: those come first. */
#ifndef ANALYZE_COMPARE_TEXTS_H
#define ANALYZE_COMPARE_TEXTS_H

#include <string.h>

static inline int compare_texts(const char *a, const char *b)
{
	return a == b ? 0 : !a ? -1 : !b ? 1 : strcmp(a, b);
}

#endif
