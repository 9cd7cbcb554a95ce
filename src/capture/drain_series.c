/* What is read about the system, on its way to the trace.  See system_watch.h. */
#include "capture/drain_state.h"

void drain_watch_system(struct drain *d, struct system_watch *w)
{
	d->system = w;
}

void drain_series_begin(struct drain *d, uint32_t slot)
{
	const struct trace_process *p = &d->processes[slot].entry;

	if (d->system)
		system_watch_add(d->system, p->id, (pid_t)p->pid);
}

void drain_series_end(struct drain *d, uint32_t slot)
{
	struct drain_process *p = &d->processes[slot];

	if (!d->system || p->unwatched)
		return;
	p->unwatched = true;
	system_watch_remove(d->system, p->entry.id, (pid_t)p->entry.pid);
}

int drain_series(struct drain *d, struct err *err)
{
	if (!d->system)
		return 0;
	system_watch_start(d->system);
	system_watch_take(d->system, &d->points);
	for (size_t i = 0; i < d->points.count; i++) {
		if (trace_write_point(d->writer, &d->points.items[i], err))
			return -1;
	}
	return 0;
}

void drain_series_gpu(struct drain *d)
{
	if (d->system)
		system_watch_use_gpu(d->system);
}

void drain_series_release(struct drain *d)
{
	system_points_release(&d->points);
}
