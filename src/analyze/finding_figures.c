#include "analyze/finding_figures.h"

#include <stdlib.h>
#include <string.h>

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
