#include "analyze/notes.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/array.h"

void notes_add(struct notes *n, const char *fmt, ...)
{
	char **grown = array_grow(n->items, &n->cap, n->count + 1, sizeof(*grown));
	char *text = NULL;
	va_list ap;

	if (!grown) {
		n->failed = true;
		return;
	}
	n->items = grown;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		n->failed = true;
	else
		grown[n->count++] = text;
	va_end(ap);
}
