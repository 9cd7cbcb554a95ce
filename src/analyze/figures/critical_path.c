#include "analyze/figures/critical_path.h"

#include <stdlib.h>
#include <string.h>

void critical_path_release(struct analysis_critical_path *p)
{
	free(p->parts);
	free(p->layers);
	memset(p, 0, sizeof(*p));
}

const char *critical_kind_name(enum critical_kind k)
{
	static const char *const names[CRITICAL_KINDS] = {
		[CRITICAL_HOST] = "host",
		[CRITICAL_DEVICE] = "device",
		[CRITICAL_LATENCY] = "latency",
	};

	return names[k];
}
