/*
 * Samples on their way to the trace: threads get the ids that they have there.
 *
 * A thread is known by the ring that it writes to, or only because it was
 * sampled; and the one may follow the other.  It has one id all the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "capture/drain/drain_state.h"
#include "capture/native/native_sampler.h"
#include "format/record.h"

/* The kernel's samples on their way to the trace.  See native_sampler.h. */

#define READ_AFTER_NS 100000000 /* the kernel's memory holds what comes in this time */

struct context {
	struct drain *drain;
	struct err *err;
};

static uint32_t next_id(void *ctx)
{
	struct shm_header *h = ((struct context *)ctx)->drain->owner->header;
	uint32_t id = 0;

	while (!id) /* it may wrap around */
		id = atomic_fetch_add_explicit(&h->next_id, 1, memory_order_relaxed);
	return id;
}

static int define_place(void *ctx, uint8_t kind, uint32_t id, const void *payload, size_t bytes)
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

static int write_native(void *ctx, const struct native_sample *s)
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

	/* What threads without Python wait for is not used. */
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
	const struct native_reader reader = { &c,          write_native, write_absence,
					      write_fault, count_turns,  count_interrupts };
	const struct native_definitions definitions = { &c, next_id, define_place };

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
			native_sampler_add(d->native, p->entry.id, (pid_t)p->entry.pid);
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
	const struct native_definitions definitions = { &c, next_id, define_place };

	if (!d->native)
		return 0;
	return read_all(d, err) || native_define(d->native, &definitions) ? -1 : 0;
}

#define REMEMBER_NS 2000000000 /* what was seen of a thread may come this much after its end */

static struct sampled_thread *find(const struct drain *d, uint32_t process, uint32_t tid)
{
	for (size_t i = 0; i < d->sampled_count; i++) {
		struct sampled_thread *s = &d->sampled[i];

		if (s->entry.process == process && s->entry.tid == tid)
			return s;
	}
	return NULL;
}

static struct sampled_thread *add(struct drain *d, const struct trace_thread *entry)
{
	struct sampled_thread *grown =
		array_grow(d->sampled, &d->sampled_cap, d->sampled_count + 1, sizeof(*grown));

	if (!grown)
		return NULL;
	d->sampled = grown;
	grown[d->sampled_count] = (struct sampled_thread){ .entry = *entry };
	grown[d->sampled_count].entry.name = NULL; /* borrowed */
	return &grown[d->sampled_count++];
}

static void drop(struct drain *d, struct sampled_thread *s)
{
	*s = d->sampled[--d->sampled_count];
}

uint32_t drain_samples_adopt(struct drain *d, uint32_t process, uint32_t tid)
{
	struct sampled_thread *s = find(d, process, tid);

	if (s && s->ours) {
		s->ours = false; /* the ring's entry accounts for it from now on */
		return s->entry.id;
	}
	if (s) /* of a thread that has ended; its number is this one's now, and so are the samples
		*/
		drop(d, s);
	return d->next_thread++;
}

void drain_samples_remember(struct drain *d, const struct trace_thread *entry)
{
	struct sampled_thread *s = d->sampler ? find(d, entry->process, entry->tid) : NULL;

	if (!d->sampler)
		return;
	if (!s)
		s = add(d, entry);
	if (s) /* else it gets a second id, at worst */
		s->expires_ns = ticks_now_ns(d->ticks) + REMEMBER_NS;
}

static void expire(struct drain *d)
{
	int64_t now_ns = ticks_now_ns(d->ticks);

	for (size_t i = 0; i < d->sampled_count;) {
		struct sampled_thread *s = &d->sampled[i];

		if (s->expires_ns && s->expires_ns < now_ns)
			drop(d, s);
		else
			i++;
	}
}

/* By their command name, where it is not that of the process. */
static void thread_name(char *out, size_t size, uint32_t pid, uint32_t tid)
{
	char path[64];
	FILE *f;

	*out = '\0';
	if (pid == tid) {
		snprintf(out, size, "MainThread");
		return;
	}
	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", pid, tid);
	f = fopen(path, "re");
	if (f && fgets(out, (int)size, f))
		out[strcspn(out, "\n")] = '\0';
	if (f)
		fclose(f);
	if (!strncmp(out, "python", 6)) /* inherited: says nothing */
		*out = '\0';
}

const struct trace_process *drain_process_of(const struct drain *d, uint32_t id)
{
	for (uint32_t i = 0; i < d->process_limit; i++) {
		if (d->processes[i].known && d->processes[i].entry.id == id)
			return &d->processes[i].entry;
	}
	return NULL;
}

static int write_entry(struct drain *d, struct sampled_thread *s, struct err *err)
{
	s->entry.name = s->name;
	return trace_write_thread(d->writer, &s->entry, err);
}

/* A thread that is sampled for the first time.  NULL: err is set. */
static struct sampled_thread *introduce(struct drain *d, const struct sampler_sample *l,
					struct err *err)
{
	const struct trace_process *process = drain_process_of(d, l->process);
	struct trace_thread entry = {
		.process = l->process,
		.tid = l->tid,
		.start_ns = l->sample.first_ns,
		.end_ns = TRACE_UNKNOWN_NS,
	};
	struct sampled_thread *s;

	for (uint32_t i = 0; i < d->thread_limit; i++) {
		const struct trace_thread *t = &d->threads[i].entry;

		if (d->threads[i].known && t->process == l->process && t->tid == l->tid)
			entry.id = t->id;
	}
	s = add(d, &entry);
	if (!s) {
		err_set(err, "out of memory");
		return NULL;
	}
	if (entry.id)
		return s;
	s->ours = true;
	s->entry.id = d->next_thread++;
	d->totals.threads++;
	thread_name(s->name, sizeof(s->name), process ? process->pid : 0, l->tid);
	return write_entry(d, s, err) ? NULL : s;
}

static int thread_ended(struct drain *d, struct sampled_thread *s, int64_t end_ns, struct err *err)
{
	int rc = 0;

	if (s->ours) {
		s->entry.end_ns = end_ns;
		drain_times_finish_sampled(s);
		rc = write_entry(d, s, err) || trace_writer_forget(d->writer, s->entry.id, err);
	}
	drop(d, s);
	return rc ? -1 : 0;
}

static int write_sample(struct drain *d, const struct sampler_sample *l, struct err *err)
{
	struct sampled_thread *s = find(d, l->process, l->tid);
	struct sample sample = l->sample;

	if (!sample.count)
		return s ? thread_ended(d, s, sample.last_ns, err) : 0;
	if (!s)
		s = introduce(d, l, err);
	if (!s)
		return -1;
	sample.thread = s->entry.id;
	drain_costs_samples(d, l);
	return trace_write_sample(d->writer, l->process, &sample, err);
}

static int write_sampled_defs(struct drain *d, const struct buf *defs, struct err *err)
{
	size_t at = 0;

	while (at < defs->len) {
		struct sampler_def def;

		memcpy(&def, defs->data + at, sizeof(def));
		at += sizeof(def);
		if (trace_write_def(d->writer, def.kind, def.id, defs->data + at, def.bytes, err))
			return -1;
		frameworks_note(&d->frameworks, def.kind, defs->data + at, def.bytes);
		at += def.bytes;
	}
	return 0;
}

int drain_samples(struct drain *d, struct err *err)
{
	struct sampler_taken *taken = &d->taken;

	if (!d->sampler)
		return 0;
	sampler_take(d->sampler, taken);
	if (taken->defs.failed)
		return err_set(err, "out of memory");
	if (write_sampled_defs(d, &taken->defs, err))
		return -1;
	for (size_t i = 0; i < taken->sample_count; i++) {
		if (write_sample(d, &taken->samples[i], err))
			return -1;
	}
	expire(d);
	return 0;
}

#define UNREADABLE                                                                               \
	"CPython %u.%u (process %u) has a memory layout unknown to this version of InferScope: " \
	"it was not sampled"

#define ELSEWHERE                                                                                 \
	"CPython %u.%u (process %u) runs in its own PID namespace, where threads have different " \
	"numbers: it was not sampled"

int drain_samples_begin(struct drain *d, uint32_t slot, struct err *err)
{
	struct shm_process *shared = &d->owner->processes[slot];
	struct drain_process *p = &d->processes[slot];
	uint32_t version = p->entry.python_version;
	struct shm_python where;
	char text[256];

	/* Acquire: pairs with write_python(). */
	if (!d->sampler || p->sampled ||
	    !atomic_load_explicit(&shared->python_set, memory_order_acquire))
		return 0;
	p->sampled = true;
	memcpy(&where, &shared->python, sizeof(where));
	if (!sampler_add(d->sampler, p->entry.id, (pid_t)p->entry.pid, version, &where, shared))
		return 0;
	snprintf(text, sizeof(text),
		 where.readable == SHM_PYTHON_ELSEWHERE ? ELSEWHERE : UNREADABLE, version >> 24,
		 version >> 16 & 0xff, p->entry.pid);
	return trace_write_note(d->writer, text, err);
}

void drain_samples_end(struct drain *d, uint32_t slot)
{
	if (d->sampler && d->processes[slot].sampled)
		sampler_remove(d->sampler, d->processes[slot].entry.id);
}

void drain_samples_release(struct drain *d)
{
	free(d->sampled);
	sampler_taken_release(&d->taken);
}
