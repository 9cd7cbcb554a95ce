#include "export/export.h"

#include <string.h>

static const struct exporter *const exporters[] = {
	&exporter_json,
	NULL,
};

const struct exporter *exporter_find(const char *name)
{
	for (const struct exporter *const *e = exporters; *e; e++)
		if (!strcmp((*e)->name, name))
			return *e;
	return NULL;
}
