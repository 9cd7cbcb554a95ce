/*
 * What the recorder read from outside, as counters: of a value that stays the first and the last
 * point.  Series that this version or the trace does not know are omitted.
 */
#include <stdlib.h>

#include "base/idmap.h"
#include "export/export_json.h"
#include "export/thread_intervals.h"
#include "timeline/sample_walk.h"

static void write_interval(void *ctx, const struct thread_interval *i)
{
	struct exported *x = ctx;
	struct json *j = &x->json;

	export_event_begin(x, "thread_state", thread_state_name(i->state));
	key_us(j, "start_us", i->start_ns);
	key_us(j, "end_us", i->end_ns);
	key_us(j, "error_us", i->error_ns);
	export_event_thread(x, i->thread);
	if (i->lock)
		key_uint(j, "lock", i->lock);
	export_event_end(x);
}

/* Exact, in the order in which the kernel reported. */
static void take_native(void *ctx, const struct native_sample_at *n)
{
	struct exported *x = ctx;

	if (!(n->flags & SAMPLE_AWAY) || n->thread >= trace_thread_count(x->trace))
		return;
	export_event_begin(x, "off_cpu",
			   (n->flags & SAMPLE_STATE) == SAMPLE_RUNNING ? "preempted" : "waiting");
	key_us(&x->json, "start_us", n->time_ns);
	key_us(&x->json, "end_us", n->end_ns);
	export_event_thread(x, n->thread);
	export_event_end(x);
}

int export_json_states(struct exported *x, struct err *err)
{
	const struct sample_visitor absences = { .ctx = x, .native = take_native };
	struct sample_walk walk;

	return thread_intervals_walk(x->trace, write_interval, x, err) ||
			       sample_walk(&walk, x->trace, &absences, err)
		       ? -1
		       : 0;
}

static void write_point(struct exported *x, const struct series_point *p, uint32_t pid)
{
	const struct series_quantity *q = series_quantity(p->kind);
	struct json *j = &x->json;

	export_event_begin(x, "counter", q->name);
	key_us(j, "start_us", p->time_ns);
	if (p->process) {
		key_uint(j, "pid", pid);
		key_uint(j, "process", p->process);
	}
	if (p->instance)
		key_uint(j, "instance", p->instance);
	key_string(j, "unit", series_unit_name(q->unit));
	key_string(j, "nature", q->nature == SERIES_TOTAL ? "total" : "gauge");
	json_key(j, "value");
	json_int(j, p->value);
	export_event_end(x);
}

/* All that may have series: those without an agent come behind the others. */
static const struct trace_process *process_at(const struct trace *t, size_t i)
{
	size_t recorded = trace_process_count(t);

	return i < recorded ? trace_process(t, i) : trace_observed(t, i - recorded);
}

static void write_batch(struct exported *x, const struct series_batch *b,
			const struct idmap *processes)
{
	for (size_t i = 0; i < b->count; i++) {
		const struct series_point *p = &b->points[i];
		uint32_t at = p->process ? idmap_find(processes, p->process) : 0;

		if (series_quantity(p->kind) && at != IDMAP_NONE)
			write_point(x, p, p->process ? process_at(x->trace, at)->pid : 0);
	}
}

void export_json_series_examine(struct exported *x)
{
	struct series_batch b;

	series_batch_init(&b);
	for (size_t i = 0; i < trace_series_batch_count(x->trace) && !*x->damage.text; i++)
		(void)trace_series_batch_read(x->trace, i, &b, &x->damage);
	series_batch_release(&b);
}

int export_json_series(struct exported *x, struct err *err)
{
	struct idmap processes;
	struct series_batch b;
	int rc = -1;

	idmap_init(&processes);
	series_batch_init(&b);
	for (size_t i = trace_process_count(x->trace) + trace_observed_count(x->trace); i-- > 0;) {
		if (idmap_put(&processes, process_at(x->trace, i)->id, (uint32_t)i)) {
			err_set(err, "out of memory");
			goto out;
		}
	}
	for (size_t i = 0; i < trace_series_batch_count(x->trace); i++) {
		struct err why; /* the head has it */

		if (!trace_series_batch_read(x->trace, i, &b, &why)) {
			write_batch(x, &b, &processes);
		} else if (err_is_memory(&why)) {
			err_set(err, "out of memory");
			goto out;
		}
	}
	rc = 0;
out:
	series_batch_release(&b);
	idmap_release(&processes);
	return rc;
}
