#include "cli/progress.h"

#include <stdbool.h>
#include <stdio.h>

static bool shown;

void progress_tick(void *context, struct recording *r)
{
	struct drain_totals t = drain_totals(recording_drain(r));
	double millions = (double)t.stored / 1e6;

	(void)context;
	/* Back to the first column at once: what the workload prints next covers the line. */
	fprintf(stderr, "\r\033[Kinferscope: recording, %.1f M events, %.0f MB, %u process%s\r",
		millions, (double)trace_writer_bytes(recording_writer(r)) / 1e6, t.processes,
		t.processes == 1 ? "" : "es");
	fflush(stderr);
	shown = true;
}

void progress_clear(void)
{
	if (shown)
		fputs("\r\033[K", stderr);
	shown = false;
}
