#include "analyze/partition.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name, *title;
} classes[TIME_CLASSES] = {
	[TIME_GPU_COMPUTE] = { "gpu_compute", "GPU compute" },
	[TIME_H2D] = { "h2d", "H2D copy" },
	[TIME_D2H] = { "d2h", "D2H copy" },
	[TIME_SYNC_WAIT] = { "sync_wait", "Synchronisation wait" },
	[TIME_CPU_PREPROCESSING] = { "cpu_preprocessing", "CPU preprocessing" },
	[TIME_CPU_COMPUTE] = { "cpu_compute", "CPU compute" },
	[TIME_FRAMEWORK] = { "framework", "Framework overhead" },
	[TIME_LAUNCH] = { "launch", "Launches" },
	[TIME_ALLOCATION] = { "allocation", "Allocation" },
	[TIME_GC] = { "gc", "Garbage collection" },
	[TIME_GIL_WAIT] = { "gil_wait", "GIL wait" },
	[TIME_LOCK_WAIT] = { "lock_wait", "Lock wait" },
	[TIME_IO_WAIT] = { "io_wait", "I/O wait" },
	[TIME_SLEEP] = { "sleep", "Sleep" },
	[TIME_PAGE_FAULTS] = { "page_faults", "Page faults" },
	[TIME_COMPILE] = { "compile", "Compilation" },
	[TIME_IDLE] = { "idle", "Idle" },
	[TIME_UNATTRIBUTED] = { "unattributed", "Unattributed" },
};

const char *time_class_name(enum time_class c)
{
	return classes[c].name;
}

const char *time_class_title(enum time_class c)
{
	return classes[c].title;
}

bool time_class_is_wait(enum time_class c)
{
	return c == TIME_LOCK_WAIT || c == TIME_IO_WAIT || c == TIME_SLEEP;
}

bool time_cause_is_mostly_inner(const struct time_cause *c)
{
	return c->inner.name && c->inner_ns > c->ns - c->inner_ns;
}

void step_breakdown_release(struct step_breakdown *b)
{
	free(b->causes);
	free(b->slow.causes);
	memset(b, 0, sizeof(*b));
}
