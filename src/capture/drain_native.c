/* The kernel's samples on their way to the trace.  See native.h. */
#include "capture/drain_state.h"
#include "capture/native.h"
#include "format/record.h"

#define READ_AFTER_NS 100000000 /* the kernel's memory holds what comes in this time */

struct context {
	struct drain *drain;
	struct err *err;
};

static uint32_t next_id(void *ctx)
{
	struct shm_header *h = ((struct context *)ctx)->drain->area->header;
	uint32_t id = 0;

	while (!id) /* it may wrap around */
		id = atomic_fetch_add_explicit(&h->next_id, 1, memory_order_relaxed);
	return id;
}

static int define(void *ctx, uint8_t kind, uint32_t id, const void *payload, size_t bytes)
{
	struct context *c = ctx;

	return trace_write_def(c->drain->writer, kind, id, payload, bytes, c->err);
}

/* 0: a thread that the trace does not know, because it has never run Python. */
static uint32_t thread_id(const struct drain *d, uint32_t process, uint32_t tid)
{
	for (uint32_t i = 0; i < d->thread_limit; i++) {
		const struct trace_thread *t = &d->threads[i].entry;

		if (d->threads[i].known && t->process == process && t->tid == tid)
			return t->id;
	}
	for (size_t i = 0; i < d->sampled_count; i++) {
		const struct trace_thread *t = &d->sampled[i].entry;

		if (t->process == process && t->tid == tid)
			return t->id;
	}
	return 0;
}

static int write_sample(void *ctx, const struct native_sample *s)
{
	struct context *c = ctx;
	struct drain *d = c->drain;
	int64_t time_ns = s->monotonic_ns - trace_writer_start(d->writer)->monotonic_ns;
	const struct sample sample = {
		.thread = thread_id(d, s->process, (uint32_t)s->tid),
		.stack = s->place,
		.flags = SAMPLE_NATIVE | SAMPLE_RUNNING,
		.count = 1,
		.first_ns = time_ns,
		.last_ns = time_ns,
	};

	return trace_write_sample(d->writer, s->process, &sample, c->err);
}

static int write_absence(void *ctx, const struct native_absence *a)
{
	struct context *c = ctx;
	struct drain *d = c->drain;
	int64_t origin_ns = trace_writer_start(d->writer)->monotonic_ns;
	const struct sample sample = {
		.thread = thread_id(d, a->process, (uint32_t)a->tid),
		.flags = SAMPLE_NATIVE | SAMPLE_AWAY |
			 (a->preempted ? SAMPLE_RUNNING : SAMPLE_OFF_CPU),
		.count = 1,
		.first_ns = a->start_ns - origin_ns,
		.last_ns = a->end_ns - origin_ns,
	};

	/* What threads without Python wait for is of no use to anybody. */
	return sample.thread ? trace_write_sample(d->writer, a->process, &sample, c->err) : 0;
}

static int write_fault(void *ctx, const struct native_fault *f)
{
	struct context *c = ctx;
	struct drain *d = c->drain;
	int64_t time_ns = f->at.monotonic_ns - trace_writer_start(d->writer)->monotonic_ns;
	const struct sample sample = {
		.thread = thread_id(d, f->at.process, (uint32_t)f->at.tid),
		.stack = f->at.place,
		.flags = SAMPLE_NATIVE | SAMPLE_FAULT | SAMPLE_RUNNING |
			 (f->major ? SAMPLE_MAJOR : 0),
		.count = f->count,
		.first_ns = time_ns,
		.last_ns = time_ns,
	};

	drain_costs_faults(d, f->at.process, f->count);
	return trace_write_sample(d->writer, f->at.process, &sample, c->err);
}

static void count_turns(void *ctx, uint32_t process, uint64_t count)
{
	drain_costs_turns(((struct context *)ctx)->drain, process, count);
}

static void count_interrupts(void *ctx, uint32_t process, uint64_t count)
{
	drain_costs_interrupts(((struct context *)ctx)->drain, process, count);
}

static int read_all(struct drain *d, struct err *err)
{
	struct context c = { d, err };
	const struct native_reader reader = { &c,          write_sample, write_absence,
					      write_fault, count_turns,  count_interrupts };
	const struct native_definitions definitions = { &c, next_id, define };

	return native_read(d->native, ticks_now_ns(d->ticks), &reader, &definitions);
}

int drain_native_cycle(struct drain *d, struct err *err)
{
	int64_t now_ns = ticks_now_ns(d->ticks);

	if (!d->native || now_ns < d->native_due_ns)
		return 0;
	d->native_due_ns = now_ns + READ_AFTER_NS;
	for (uint32_t i = 0; i < d->process_limit; i++) {
		const struct drain_process *p = &d->processes[i];

		if (p->known && !p->gone)
			native_watch(d->native, p->entry.id, (pid_t)p->entry.pid);
	}
	return read_all(d, err);
}

void drain_native_end(struct drain *d, uint32_t slot)
{
	if (d->native)
		native_forget(d->native, d->processes[slot].entry.id);
}

int drain_native_finish(struct drain *d, struct err *err)
{
	struct context c = { d, err };
	const struct native_definitions definitions = { &c, next_id, define };

	if (!d->native)
		return 0;
	return read_all(d, err) || native_define(d->native, &definitions) ? -1 : 0;
}
