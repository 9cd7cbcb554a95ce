/* What is read about the system, on its way to the trace.  See system_reader.h. */
#include "base/varint.h"
#include "capture/drain/drain_state.h"
#include "format/series.h"

void drain_read_system(struct drain *d, struct system_reader *w)
{
	d->system = w;
}

void drain_series_begin(struct drain *d, uint32_t slot)
{
	const struct trace_process *p = &d->processes[slot].entry;

	if (!d->system)
		return;
	d->joined[d->joined_next].pid = p->pid;
	d->joined[d->joined_next].start_ns = p->start_ns;
	d->joined_next = (d->joined_next + 1) % DRAIN_JOINED_KEPT;
	system_reader_add(d->system, p->id, (pid_t)p->pid);
}

void drain_series_end(struct drain *d, uint32_t slot)
{
	struct drain_process *p = &d->processes[slot];

	if (!d->system || p->unwatched)
		return;
	p->unwatched = true;
	system_reader_remove(d->system, p->entry.id, (pid_t)p->entry.pid);
}

/* Also where drain_tables_update() has not come to it yet. */
static bool has_joined(const struct drain *d, uint32_t pid)
{
	for (uint32_t i = 0; i < d->owner->process_count; i++) {
		const struct shm_process *p = &d->owner->processes[i];

		if (atomic_load_explicit(&p->state, memory_order_relaxed) != SHM_UNUSED &&
		    *(const volatile uint32_t *)&p->pid == pid)
			return true;
	}
	return false;
}

/* One that ended before the reader was told that an agent had joined it. */
static bool was_joined(const struct drain *d, const struct system_found *f)
{
	for (unsigned i = 0; f->brief && i < DRAIN_JOINED_KEPT; i++)
		if (d->joined[i].pid == (uint32_t)f->pid && d->joined[i].start_ns >= f->start_ns)
			return true;
	return f->brief && has_joined(d, (uint32_t)f->pid);
}

void drain_series_ended(struct drain *d, uint32_t pid)
{
	if (d->system && !has_joined(d, pid))
		system_reader_ended(d->system, (pid_t)pid);
}

static int write_found(struct drain *d, const struct system_found *f, struct err *err)
{
	const struct trace_process p = {
		.id = f->id,
		.pid = (uint32_t)f->pid,
		.parent_pid = (uint32_t)f->parent,
		.start_ns = f->start_ns,
		.end_ns = f->end_ns,
		.name = f->name,
	};

	return trace_write_observed(d->writer, &p, err);
}

int drain_series(struct drain *d, struct err *err)
{
	if (!d->system)
		return 0;
	system_reader_crowded(d->system, drain_is_crowded(d));
	system_reader_start(d->system);
	system_reader_take(d->system, &d->points, &d->found);
	for (size_t i = 0; i < d->found.count; i++) {
		const struct system_found *f = &d->found.items[i];

		if (was_joined(d, f))
			continue;
		if (write_found(d, f, err))
			return -1;
	}
	for (size_t i = 0; i < d->points.count; i++) {
		if (trace_write_point(d->writer, &d->points.items[i], err))
			return -1;
	}
	return 0;
}

static bool is_for_agents(uint64_t kind)
{
	return kind >= SERIES_TORCH_ALLOCATED && kind <= SERIES_TORCH_OOMS;
}

/* What is invalid is omitted, as whatever follows it. */
int drain_series_received(struct drain *d, uint32_t slot, const struct record *r, struct err *err)
{
	const uint8_t *at = (const uint8_t *)(r + 1), *end = at + r->payload_bytes;
	struct drain_process *p = &d->processes[slot];
	struct series_point point = {
		.time_ns = ticks_ns(d->ticks, r->stamp),
		.process = p->entry.id,
		.instance = r->id,
	};
	uint64_t kind, value;

	/* Threads of a process take turns, and their records may come in another order. */
	if (!d->system || point.time_ns < p->reported_ns)
		return 0;
	p->reported_ns = point.time_ns;
	while (at < end) {
		at = varint_get(at, end, &kind);
		at = at ? varint_get(at, end, &value) : NULL;
		if (!at || !is_for_agents(kind) || value > INT64_MAX)
			return 0;
		point.kind = (uint32_t)kind;
		point.value = (int64_t)value;
		if (trace_write_point(d->writer, &point, err))
			return -1;
	}
	return 0;
}

void drain_series_gpu(struct drain *d)
{
	if (d->system)
		system_reader_use_gpu(d->system);
}

void drain_series_release(struct drain *d)
{
	system_points_release(&d->points);
	system_founds_release(&d->found);
}
