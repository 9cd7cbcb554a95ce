/*
 * From sorted spans to records: each thread is written on its own, with a stack of what is open.
 *
 * Functions, layers and calls nest in our records.  A span that outlasts the one it begins in is
 * cut at that one's end, and counted.  Scopes may overlap: their ends are items of their own.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/varint.h"
#include "import/build/build_defs.h"
#include "import/build/build_order.h"

#define MONOTONIC_NS 1000000000 /* time 0 on the clock of device times, which has no 0 */
#define DEPTH_MAX 2048u         /* deeper spans are omitted, and counted */
#define CUT_SHOWN_NS 1000       /* clocks of a microsecond's resolution overlap by as much */

static int fail_memory(struct build_writer *v)
{
	return err_set(v->err, "out of memory");
}

static int64_t on_clock(const struct build_writer *v, int64_t time_ns)
{
	return time_ns - v->b->origin_ns;
}

static int put_event(struct build_writer *v, uint8_t kind, uint32_t id, int64_t time_ns)
{
	return trace_write_event(v->w, v->thread, v->index++, kind, id, on_clock(v, time_ns), NULL,
				 0, v->err);
}

/* With what is in v->payload. */
static int put_payload_event(struct build_writer *v, uint8_t kind, uint32_t id, int64_t time_ns)
{
	if (v->payload.failed)
		return fail_memory(v);
	return trace_write_event(v->w, v->thread, v->index++, kind, id, on_clock(v, time_ns),
				 v->payload.data, v->payload.len, v->err);
}

static const struct open_span *innermost(const struct build_writer *v)
{
	return v->depth ? &v->open[v->depth - 1] : NULL;
}

static int open_push(struct build_writer *v, struct open_span o)
{
	struct open_span *grown = array_grow(v->open, &v->open_cap, v->depth + 1, sizeof(*grown));

	if (!grown)
		return fail_memory(v);
	v->open = grown;
	grown[v->depth++] = o;
	return 0;
}

static int end_innermost(struct build_writer *v)
{
	static const uint8_t ends[BUILD_KINDS] = {
		[BUILD_PYTHON] = RECORD_RETURN,
		[BUILD_FUNCTION] = RECORD_RETURN,
		[BUILD_LAYER] = RECORD_LAYER_END,
		[BUILD_CUDA] = RECORD_CUDA_EXIT,
	};
	const struct open_span *o = &v->open[--v->depth];

	return put_event(v, ends[o->kind], o->id, o->end_ns);
}

static int end_until(struct build_writer *v, int64_t time_ns)
{
	while (v->depth && v->open[v->depth - 1].end_ns <= time_ns)
		if (end_innermost(v))
			return -1;
	return 0;
}

static int begin_function(struct build_writer *v, const struct build_span *s, struct open_span *o)
{
	const struct open_span *around = innermost(v);
	bool python = s->kind == BUILD_PYTHON;

	o->id = build_function_def(v, s->name);
	if (!o->id)
		return -1;
	/* Operators stand in for the stack where no Python function is known. */
	o->python = python || (around && around->python);
	o->node = around ? around->node : 0;
	if (python && around && !around->python)
		o->node = 0;
	if (python || !o->python) {
		o->node = build_frame(v->b, o->node, s->name);
		if (!o->node)
			return fail_memory(v);
	}
	return put_event(v, RECORD_CALL, o->id, s->start_ns) || open_push(v, *o) ? -1 : 0;
}

static int begin_layer(struct build_writer *v, const struct build_span *s, struct open_span *o)
{
	const struct open_span *around = innermost(v);

	o->id = build_layer_def(v, s->name);
	o->node = around ? around->node : 0;
	o->python = around && around->python;
	if (!o->id || put_event(v, RECORD_LAYER_BEGIN, o->id, s->start_ns))
		return -1;
	return open_push(v, *o);
}

static int begin_call(struct build_writer *v, const struct build_span *s, struct open_span *o)
{
	const struct open_span *around = innermost(v);
	uint32_t name = build_string_def(v, s->name), stack;

	o->id = s->detail;
	o->node = around ? around->node : 0;
	o->python = around && around->python;
	if (!name || build_stack_def(v, s->stack ? s->stack : o->node, &stack))
		return -1;
	buf_clear(&v->payload);
	buf_add_varint(&v->payload, (uint64_t)build_call_of(v->b, s));
	buf_add_varint(&v->payload, s->detail);
	buf_add_varint(&v->payload, stack);
	buf_add_varint(&v->payload, 0);
	if (s->stream)
		buf_add_varint(&v->payload, s->stream);
	if (put_payload_event(v, RECORD_CUDA_ENTER, name, s->start_ns))
		return -1;
	return open_push(v, *o);
}

/* What nests: begins now, and ends no later than what it is in. */
static int begin_nested(struct build_writer *v, const struct build_span *s)
{
	const struct open_span *around = innermost(v);
	struct open_span o = { .end_ns = s->end_ns, .kind = (uint8_t)s->kind };

	if (v->depth >= DEPTH_MAX) {
		v->too_deep++;
		return 0;
	}
	if (around && o.end_ns > around->end_ns) {
		v->cut += o.end_ns != BUILD_OPEN && o.end_ns - around->end_ns > CUT_SHOWN_NS;
		o.end_ns = around->end_ns;
	}
	if (s->kind == BUILD_CUDA)
		return begin_call(v, s, &o);
	return s->kind == BUILD_LAYER ? begin_layer(v, s, &o) : begin_function(v, s, &o);
}

/* Of a scope or mark. */
static uint32_t annotation_def(struct build_writer *v, const struct build_span *s)
{
	return s->call == BUILD_SPAN_NVTX ? build_nvtx_def(v, s->name)
					  : build_string_def(v, s->name);
}

static int put_scope(struct build_writer *v, const struct build_span *s, size_t at, bool end)
{
	uint32_t name = annotation_def(v, s);

	if (!v->scope_instances) {
		v->scope_instances = calloc(v->b->spans.count, sizeof(*v->scope_instances));
		if (!v->scope_instances)
			return fail_memory(v);
	}
	if (!end)
		v->scope_instances[at] = (uint32_t)++v->instances;
	buf_clear(&v->payload);
	buf_add_varint(&v->payload, v->scope_instances[at]);
	if (!end)
		buf_add_varint(&v->payload, s->detail);
	if (!name)
		return -1;
	return put_payload_event(v, end ? RECORD_SCOPE_END : RECORD_SCOPE_BEGIN, name,
				 end ? s->end_ns : s->start_ns);
}

static int put_mark(struct build_writer *v, const struct build_span *s)
{
	uint32_t name = annotation_def(v, s);

	buf_clear(&v->payload);
	buf_add_varint(&v->payload, s->detail);
	return name ? put_payload_event(v, RECORD_MARK, name, s->start_ns) : -1;
}

static int put_counter(struct build_writer *v, const struct build_span *s)
{
	uint32_t name = build_string_def(v, s->name);

	buf_clear(&v->payload);
	buf_add(&v->payload, &s->value, sizeof(s->value));
	return name ? put_payload_event(v, RECORD_COUNTER, name, s->start_ns) : -1;
}

static int put_item(struct build_writer *v, const struct order_item *item)
{
	size_t at = item->span & ~ORDER_END;
	const struct build_span *s = build_span(v->b, at);

	if (end_until(v, item->time_ns))
		return -1;
	switch ((enum build_kind)s->kind) {
	case BUILD_SCOPE:
		return put_scope(v, s, at, item->span & ORDER_END);
	case BUILD_MARK:
		return put_mark(v, s);
	case BUILD_COUNTER:
		return put_counter(v, s);
	default:
		return begin_nested(v, s);
	}
}

static void add_varints(struct buf *to, const uint32_t *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_add_varint(to, values[i]);
}

static int put_activity(struct build_writer *v, const struct build_activity *a, int64_t reported_ns)
{
	const uint32_t common[] = { a->device, a->context, a->stream, a->correlation };
	const uint32_t shape[] = { a->registers, a->static_shared_bytes, a->dynamic_shared_bytes };
	struct buf *p = &v->payload;
	uint32_t id = a->kind == RECORD_GPU_COPY ? a->copy : a->destination;

	if (a->kind == RECORD_GPU_GRAPH)
		id = 0;
	else if (a->kind == RECORD_GPU_KERNEL)
		id = build_string_def(v, a->name);
	if (a->kind == RECORD_GPU_KERNEL && !id)
		return -1;
	buf_clear(p);
	buf_add_varint(p, (uint64_t)(on_clock(v, a->start_ns) + MONOTONIC_NS));
	buf_add_varint(p, (uint64_t)(a->end_ns - a->start_ns));
	add_varints(p, common, sizeof(common) / sizeof(*common));
	if (a->kind == RECORD_GPU_KERNEL) {
		add_varints(p, a->grid, 3);
		add_varints(p, a->block, 3);
		add_varints(p, shape, sizeof(shape) / sizeof(*shape));
	} else if (a->kind != RECORD_GPU_GRAPH) {
		buf_add_varint(p, a->bytes);
		buf_add_varint(p, a->kind == RECORD_GPU_COPY ? a->source : 0);
		if (a->kind == RECORD_GPU_COPY)
			buf_add_varint(p, a->destination);
		buf_add_varint(p, a->asynchronous);
	}
	buf_add_varint(p, a->graph);
	if (a->kind != RECORD_GPU_GRAPH)
		buf_add_varint(p, a->graph_node);
	return put_payload_event(v, a->kind, id, reported_ns);
}

static int put_device(struct build_writer *v, const struct build_device_entry *d, int64_t time_ns)
{
	const char *name = build_text(v->b, d->name);

	buf_clear(&v->payload);
	buf_add_varint(&v->payload, d->device.memory_bytes);
	buf_add_varint(&v->payload, d->device.bandwidth_kb_s);
	buf_add_varint(&v->payload, d->device.multiprocessors);
	buf_add_varint(&v->payload, d->device.clock_khz);
	buf_add_varint(&v->payload, d->device.capability);
	buf_add(&v->payload, name, build_fitting(name, strlen(name), RECORD_PAYLOAD_MAX / 4));
	return put_payload_event(v, RECORD_GPU_DEVICE, d->device.number, time_ns);
}

/* The devices that the process used come first, once each. */
static int put_device_work(struct build_writer *v, const struct build_process_entry *p,
			   const uint32_t *order, int64_t reported_ns)
{
	struct build *b = v->b;

	order += p->first_activity;
	for (size_t i = 0; i < b->device_count; i++) {
		bool used = false;

		for (size_t k = 0; k < p->activities && !used; k++)
			used = build_activity(b, order[k])->device == b->devices[i].device.number;
		if (used && put_device(v, &b->devices[i], reported_ns))
			return -1;
	}
	for (size_t i = 0; i < p->activities; i++)
		if (put_activity(v, build_activity(b, order[i]), reported_ns))
			return -1;
	return 0;
}

static int put_thread(struct build_writer *v, uint32_t at, struct order_item *items, size_t n,
		      const uint32_t *activities)
{
	const struct build_thread_entry *t = &v->b->threads[at];
	const struct build_process_entry *p = &v->b->processes[t->process];
	int64_t end_ns = t->last_ns;

	v->thread = t->id;
	v->process = t->process;
	v->index = 0;
	v->depth = 0;
	for (size_t i = 0; i < n; i++)
		if (put_item(v, &items[i]))
			return -1;
	if (end_until(v, BUILD_OPEN - 1))
		return -1;
	if (!t->spans)
		end_ns = p->first_ns;
	if (p->speaker == at && p->activities && put_device_work(v, p, activities, end_ns))
		return -1;
	return trace_writer_forget(v->w, t->id, v->err);
}

static int put_process(struct build_writer *v, const struct build_process_entry *p)
{
	const struct trace_process process = {
		.id = p->id,
		.pid = p->pid,
		.start_ns = on_clock(v, p->first_ns),
		.end_ns = on_clock(v, p->last_ns),
		.name = build_text(v->b, p->name),
	};

	return trace_write_process(v->w, &process, v->err);
}

static int put_thread_entry(struct build_writer *v, const struct build_thread_entry *t)
{
	const struct build_process_entry *p = &v->b->processes[t->process];
	const struct trace_thread thread = {
		.id = t->id,
		.process = p->id,
		.tid = t->tid,
		.start_ns = on_clock(v, t->spans ? t->first_ns : p->first_ns),
		.end_ns = on_clock(v, t->spans ? t->last_ns : p->first_ns),
		.name = build_text(v->b, t->name),
	};

	return trace_write_thread(v->w, &thread, v->err);
}

static int put_processes(struct build_writer *v)
{
	struct build *b = v->b;

	for (uint32_t i = 1; i < b->process_count; i++)
		if (b->processes[i].id && put_process(v, &b->processes[i]))
			return -1;
	for (uint32_t i = 1; i < b->thread_count; i++)
		if (b->threads[i].id && put_thread_entry(v, &b->threads[i]))
			return -1;
	return 0;
}

static int put_texts(struct build_writer *v)
{
	const char *at = v->b->infos.data, *end = at + v->b->infos.len;

	while (at < end) {
		const char *value = at + strlen(at) + 1;

		if (trace_write_info(v->w, at, value, v->err))
			return -1;
		at = value + strlen(value) + 1;
	}
	at = v->b->notes.data;
	for (end = at + v->b->notes.len; at < end; at += strlen(at) + 1)
		if (trace_write_note(v->w, at, v->err))
			return -1;
	return 0;
}

static int put_threads(struct build_writer *v, const struct order *o, const uint32_t *activities)
{
	const struct build *b = v->b;
	struct order_item *room;
	size_t most = 0;
	int rc = 0;

	for (size_t i = 1; i < b->thread_count; i++)
		most = b->threads[i].items > most ? b->threads[i].items : most;
	room = malloc((most + 1) * sizeof(*room));
	if (!room)
		return fail_memory(v);
	for (uint32_t i = 1; i < b->thread_count && !rc; i++) {
		struct order_item *items = o->items + o->first[i];

		if (!b->threads[i].id)
			continue;
		order_sort(b, items, b->threads[i].items, room);
		rc = put_thread(v, i, items, b->threads[i].items, activities);
	}
	free(room);
	return rc;
}

static int count_repairs(struct build_writer *v)
{
	if (v->cut &&
	    build_note(v->b,
		       "%llu spans outlasted the span around them by more than 1 \xc2\xb5s; "
		       "they were cut at its end",
		       (unsigned long long)v->cut))
		return -1;
	if (v->too_deep &&
	    build_note(v->b, "%llu spans were nested more than %u deep and were omitted",
		       (unsigned long long)v->too_deep, DEPTH_MAX))
		return -1;
	return 0;
}

static int write_all(struct build_writer *v)
{
	struct trace_end end = { .wall_ns = on_clock(v, v->b->end_ns) };
	struct order order = { 0 };
	uint32_t *activities = order_activities(v->b);
	int rc = -1;

	if (!activities || order_new(&order, v->b)) {
		fail_memory(v);
		goto out;
	}
	if (put_processes(v) || put_threads(v, &order, activities))
		goto out;
	if (count_repairs(v)) {
		fail_memory(v);
		goto out;
	}
	rc = put_texts(v) || trace_write_end(v->w, &end, v->err) ? -1 : 0;
out:
	order_release(&order);
	free(activities);
	return rc;
}

int build_write(struct build *b, int fd, struct err *err)
{
	struct build_writer v = { .b = b, .err = err };
	struct trace_start start = { .monotonic_ns = MONOTONIC_NS };
	int rc = -1;

	buf_init(&v.payload);
	buf_init(&v.text);
	keymap_init(&v.layer_at);
	rc = build_number_names(b) || build_link(b) ? -1 : 0;
	b->string_ids = calloc(b->names.count + 1, sizeof(*b->string_ids));
	if (b->spans.count >= ORDER_END || b->activities.count >= UINT32_MAX)
		rc = err_set(err, "more than 2 billion events; split the file");
	else if (rc || !b->string_ids)
		rc = err_set(err, "out of memory");
	if (!rc && b->has_epoch)
		start.realtime_ns = b->origin_ns + b->epoch_ns;
	if (!rc)
		rc = trace_writer_new_at(&v.w, fd, &start, err);
	if (!rc)
		rc = write_all(&v);
	trace_writer_free(v.w);
	buf_release(&v.payload);
	buf_release(&v.text);
	keymap_release(&v.layer_at);
	free(v.open);
	free(v.scope_instances);
	return rc;
}
