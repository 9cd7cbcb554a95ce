#include "analyze/figures/finding_figures.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void analysis_findings_release(struct analysis_findings *f)
{
	free(f->items);
	arena_release(&f->texts);
	memset(f, 0, sizeof(*f));
}

const char *finding_severity_name(enum finding_severity s)
{
	static const char *const names[] = { "low", "medium", "high" };

	return names[s];
}
