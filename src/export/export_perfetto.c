/*
 * Perfetto's own format: a protobuf of packets (protos/perfetto/trace in its repository; numbers
 * of fields are those of its .proto files).  Names and keys are interned: written once.
 *
 * Packets need no order: a reader sorts them by time, and keeps the order of those of one time.
 * event_walk.h hands slices over so that this gives the right nesting.
 */
#include <stdlib.h>

#include "base/json.h"
#include "export/export.h"
#include "export/proto.h"
#include "export/viewer_ids.h"
#include "tables/table_source.h"
#include "timeline/pair_map.h"

enum { TRACE_PACKET = 1 };
enum packet {
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_TRACK_DESCRIPTOR = 60,
	PACKET_FIRST = 87,
};
enum { SEQUENCE = 1, STATE_CLEARED = 1, NEEDS_STATE = 2 };
enum { SNAPSHOT_CLOCKS = 1, CLOCK_ID = 1, CLOCK_TIMESTAMP = 2 };
enum { CLOCK_REALTIME_ID = 1, CLOCK_MONOTONIC_ID = 3, CLOCK_BOOTTIME_ID = 6 };
enum track_field {
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_OF_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
	TRACK_CHILD_ORDER = 11,
	TRACK_RANK = 12,
	TRACK_MERGING = 15,
};
enum { CHILDREN_EXPLICIT = 3, MERGE_NONE = 2 };
enum { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum { THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum { COUNTER_UNIT = 3, COUNTER_UNIT_NAME = 6, UNIT_COUNT = 2, UNIT_BYTES = 3 };
enum event_field {
	EVENT_CATEGORY = 3,
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_ID = 10,
	EVENT_TRACK = 11,
	EVENT_NAME = 23,
	EVENT_DOUBLE = 44,
	EVENT_FLOW = 47,
	EVENT_FLOW_END = 48,
};
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum annotation_field {
	NOTE_NAME_ID = 1,
	NOTE_INT = 4,
	NOTE_TEXT = 6,
	NOTE_JSON = 9,
	NOTE_ITEMS = 12,
	NOTE_TEXT_ID = 17,
};
/* In the interned data: fields of lists whose entries have iid and name (or str). */
enum interned { INTERNED_CATEGORY = 1, INTERNED_NAME = 2, INTERNED_KEY = 3, INTERNED_TEXT = 29 };

/* Numbers of tracks: threads by position, others by what they are. */
#define UUID_PROCESS (UINT64_C(1) << 32)
#define UUID_GPU (UINT64_C(2) << 32)
#define UUID_THREAD (UINT64_C(3) << 32)
#define UUID_TRACK (UINT64_C(4) << 32)
#define UUID_COUNTER (UINT64_C(5) << 32)
#define UUID_MACHINE (UINT64_C(6) << 32)

struct perfetto {
	struct event_walk *walk;
	struct viewer_ids ids;
	struct buf text, packet, event, note, inner, interned, name;
	struct pair_map iids; /* (kind, number or address) -> iid */
	uint64_t next_iid;
	struct pair_map counters; /* (name, process and instance) -> track */
	uint64_t next_counter;
	bool *named_processes, *named_threads; /* by position */
	bool named_machine;
	size_t named_gpus;
	int64_t zero_ns; /* time 0 of the trace on the clock of the packets */
	int fd, error;
	bool failed; /* no memory */
};

static void packet_write(struct perfetto *x, bool needs_state)
{
	proto_uint(&x->packet, PACKET_SEQUENCE, SEQUENCE);
	proto_uint(&x->packet, PACKET_SEQUENCE_FLAGS, needs_state ? NEEDS_STATE : STATE_CLEARED);
	if (x->interned.len)
		proto_message(&x->packet, PACKET_INTERNED, &x->interned);
	buf_clear(&x->interned);
	proto_message(&x->text, TRACE_PACKET, &x->packet);
	buf_clear(&x->packet);
	if (x->text.len >= EXPORT_WRITE_BYTES)
		export_flush(&x->text, x->fd, &x->error);
}

/* The number of a text; its key says which it is: the same key is the same text. */
static uint64_t intern(struct perfetto *x, enum interned kind, uint64_t group, uint64_t key,
		       const char *text)
{
	uint64_t a = (uint64_t)kind << 32 | group;
	size_t known = pair_map_find(&x->iids, a, key);

	if (known != PAIR_NONE)
		return known;
	if (pair_map_put(&x->iids, a, key, x->next_iid))
		x->failed = true;
	buf_clear(&x->inner);
	proto_uint(&x->inner, 1, x->next_iid);
	proto_string(&x->inner, 2, text);
	proto_message(&x->interned, kind, &x->inner);
	return x->next_iid++;
}

static uint64_t intern_literal(struct perfetto *x, enum interned kind, const char *text)
{
	return intern(x, kind, 0, (uint64_t)(uintptr_t)text, text);
}

/* Tracks. */

static void descriptor_begin(struct perfetto *x, uint64_t uuid, uint64_t parent)
{
	buf_clear(&x->event);
	proto_uint(&x->event, TRACK_UUID, uuid);
	if (parent)
		proto_uint(&x->event, TRACK_PARENT, parent);
}

static void descriptor_end(struct perfetto *x)
{
	proto_message(&x->packet, PACKET_TRACK_DESCRIPTOR, &x->event);
	packet_write(x, true);
}

static uint64_t name_machine(struct perfetto *x)
{
	if (!x->named_machine) {
		descriptor_begin(x, UUID_MACHINE, 0);
		proto_string(&x->event, TRACK_NAME, "system");
		descriptor_end(x);
	}
	x->named_machine = true;
	return UUID_MACHINE;
}

static uint64_t name_process(struct perfetto *x, uint32_t process)
{
	const struct trace *t = x->walk->trace;
	size_t at = process_position(t, process);

	if (at == trace_process_count(t))
		return name_machine(x);
	if (!x->named_processes[at]) {
		x->named_processes[at] = true;
		buf_clear(&x->inner);
		proto_uint(&x->inner, PROCESS_PID, viewer_pid(&x->ids, process));
		proto_string(&x->inner, PROCESS_NAME, trace_process(t, at)->name);
		descriptor_begin(x, UUID_PROCESS + at, 0);
		proto_message(&x->event, TRACK_PROCESS, &x->inner);
		descriptor_end(x);
	}
	return UUID_PROCESS + at;
}

static uint64_t name_thread(struct perfetto *x, const struct track *t)
{
	struct track of_thread = *t;
	uint64_t parent;

	if (x->named_threads[t->thread])
		return UUID_THREAD + t->thread;
	x->named_threads[t->thread] = true;
	of_thread.kind = TRACK_THREAD;
	of_thread.lane = 0;
	parent = name_process(x, t->process);
	buf_clear(&x->name);
	track_add_name(&x->name, x->walk, &of_thread);
	buf_clear(&x->inner);
	proto_uint(&x->inner, THREAD_PID, viewer_pid(&x->ids, t->process));
	proto_uint(&x->inner, THREAD_TID, viewer_tid(&x->ids, &of_thread));
	proto_string(&x->inner, THREAD_NAME, buf_string(&x->name));
	descriptor_begin(x, UUID_THREAD + t->thread, parent);
	proto_message(&x->event, TRACK_OF_THREAD, &x->inner);
	descriptor_end(x);
	return UUID_THREAD + t->thread;
}

static uint64_t name_gpu(struct perfetto *x, const struct track *t)
{
	size_t gpu = viewer_gpu(&x->ids, t->process, t->device);

	if (gpu >= x->named_gpus && !x->ids.failed) {
		x->named_gpus = gpu + 1;
		buf_clear(&x->name);
		viewer_add_gpu_name(&x->name, x->walk, &x->ids.gpus[gpu]);
		descriptor_begin(x, UUID_GPU + gpu, 0);
		proto_string(&x->event, TRACK_NAME, buf_string(&x->name));
		proto_uint(&x->event, TRACK_CHILD_ORDER, CHILDREN_EXPLICIT);
		descriptor_end(x);
	}
	return UUID_GPU + gpu;
}

static uint64_t uuid_of(const struct track *t)
{
	return t->kind == TRACK_THREAD && !t->lane ? UUID_THREAD + t->thread : UUID_TRACK + t->id;
}

static void take_track(void *ctx, const struct track *t)
{
	struct perfetto *x = ctx;
	uint64_t parent = t->kind == TRACK_STREAM  ? name_gpu(x, t)
			  : t->thread == NO_THREAD ? name_process(x, t->process)
						   : name_thread(x, t);

	if (uuid_of(t) == parent)
		return;
	buf_clear(&x->name);
	track_add_name(&x->name, x->walk, t);
	descriptor_begin(x, uuid_of(t), parent);
	proto_string(&x->event, TRACK_NAME, buf_string(&x->name));
	proto_int(&x->event, TRACK_RANK, (int32_t)(t->stream % 100000 * 100 + t->lane % 100));
	proto_uint(&x->event, TRACK_MERGING, MERGE_NONE);
	descriptor_end(x);
}

/* Facts. */

static void note_begin(struct perfetto *x, const char *key)
{
	buf_clear(&x->note);
	proto_uint(&x->note, NOTE_NAME_ID, intern_literal(x, INTERNED_KEY, key));
}

static void note_end(struct perfetto *x)
{
	proto_message(&x->event, EVENT_ANNOTATION, &x->note);
}

static void fact_integer(void *ctx, const char *key, int64_t value)
{
	struct perfetto *x = ctx;

	note_begin(x, key);
	proto_int(&x->note, NOTE_INT, value);
	note_end(x);
}

/* Names and files of the trace's: the same address is the same text. */
static void fact_text(void *ctx, const char *key, const char *value)
{
	struct perfetto *x = ctx;

	note_begin(x, key);
	proto_uint(&x->note, NOTE_TEXT_ID, intern_literal(x, INTERNED_TEXT, value));
	note_end(x);
}

static void fact_three(void *ctx, const char *key, const uint32_t values[3])
{
	struct perfetto *x = ctx;

	note_begin(x, key);
	for (size_t i = 0; i < 3; i++) {
		buf_clear(&x->inner);
		proto_int(&x->inner, NOTE_INT, values[i]);
		proto_message(&x->note, NOTE_ITEMS, &x->inner);
	}
	note_end(x);
}

static void fact_metadata(void *ctx, const char *key, const uint8_t *args, size_t bytes)
{
	struct perfetto *x = ctx;
	struct json j;

	note_begin(x, key);
	buf_clear(&x->name);
	json_init(&j, &x->name, JSON_COMPACT);
	args_add_json(&j, args, bytes);
	proto_string(&x->note, NOTE_JSON, buf_string(&x->name));
	note_end(x);
}

/* Events. */

static void event_begin(struct perfetto *x, int type, uint64_t track, int64_t time_ns)
{
	proto_uint(&x->packet, PACKET_TIMESTAMP, (uint64_t)(x->zero_ns + time_ns));
	buf_clear(&x->event);
	proto_uint(&x->event, EVENT_TYPE, (uint64_t)type);
	proto_uint(&x->event, EVENT_TRACK, track);
}

static void event_end(struct perfetto *x)
{
	proto_message(&x->packet, PACKET_TRACK_EVENT, &x->event);
	packet_write(x, true);
}

/* What many slices share has a number that says which it is; else UINT64_MAX. */
static uint64_t name_key(const struct event_walk *w, const struct slice *s)
{
	const struct gpu_work *work;

	switch (s->kind) {
	case SLICE_FUNCTION:
		return s->of.span.function;
	case SLICE_SAMPLED:
		return s->of.sampled.function;
	case SLICE_LAYER:
		return s->of.layer.id;
	case SLICE_SCOPE:
		return (uint64_t)(uintptr_t)timeline_scope(w->timeline, s->index)->name;
	case SLICE_CALL:
		return (uint64_t)(uintptr_t)gpu_call_api(w->gpu, gpu_call(w->gpu, s->index))->name;
	case SLICE_ACTIVITY:
		work = gpu_activity_work(w->gpu, gpu_activity(w->gpu, s->index));
		return work->kind == GPU_KERNEL ? work->name : UINT64_MAX;
	case SLICE_STEP:
	case SLICE_STATE:
	case SLICE_GC:
		break;
	}
	return UINT64_MAX;
}

static void add_name(struct perfetto *x, const struct slice *s)
{
	uint64_t key = name_key(x->walk, s);

	buf_clear(&x->name);
	slice_add_name(&x->name, x->walk, s);
	if (key == UINT64_MAX)
		proto_string(&x->event, EVENT_NAME, buf_string(&x->name));
	else
		proto_uint(&x->event, EVENT_NAME_ID,
			   intern(x, INTERNED_NAME, s->kind + 1, key, buf_string(&x->name)));
}

static void add_flows(struct perfetto *x, const struct slice *s)
{
	const struct gpu_timeline *g = x->walk->gpu;

	if (s->kind == SLICE_ACTIVITY && slice_launch(x->walk, s) != GPU_NONE)
		proto_fixed64(&x->event, EVENT_FLOW_END, s->index + 1);
	if (s->kind != SLICE_CALL)
		return;
	for (size_t i = 0; i < gpu_call_activities(g, gpu_call(g, s->index)); i++) {
		size_t activity = gpu_call_activity(g, gpu_call(g, s->index), i);

		if (gpu_activity(g, activity)->timed)
			proto_fixed64(&x->event, EVENT_FLOW, activity + 1);
	}
}

static void take_slice(void *ctx, const struct slice *s)
{
	struct perfetto *x = ctx;
	const struct fact_sink facts = {
		.ctx = x,
		.integer = fact_integer,
		.text = fact_text,
		.three = fact_three,
		.metadata = fact_metadata,
	};

	event_begin(x, TYPE_BEGIN, uuid_of(s->track), s->start_ns);
	proto_uint(&x->event, EVENT_CATEGORY,
		   intern_literal(x, INTERNED_CATEGORY, slice_category(x->walk, s)));
	add_name(x, s);
	add_flows(x, s);
	slice_write_facts(x->walk, s, &facts);
	event_end(x);
	event_begin(x, TYPE_END, uuid_of(s->track), s->end_ns);
	event_end(x);
}

static void take_mark(void *ctx, const struct track *t, const struct annotation *a)
{
	struct perfetto *x = ctx;
	const char *name = trace_string(x->walk->trace, a->name);

	event_begin(x, TYPE_INSTANT, uuid_of(t), a->time_ns);
	proto_uint(&x->event, EVENT_CATEGORY, intern_literal(x, INTERNED_CATEGORY, "mark"));
	proto_string(&x->event, EVENT_NAME, name ? name : "(unknown)");
	if (a->args_bytes)
		fact_metadata(x, "args", a->args, a->args_bytes);
	event_end(x);
}

static uint64_t counter_track(struct perfetto *x, const struct counter_point *p)
{
	uint64_t a = (uint64_t)(uintptr_t)p->name;
	uint64_t b = (uint64_t)p->process << 32 | p->instance, parent;
	size_t known = pair_map_find(&x->counters, a, b);

	if (known != PAIR_NONE)
		return known;
	parent = name_process(x, p->process);
	if (pair_map_put(&x->counters, a, b, UUID_COUNTER + x->next_counter))
		x->failed = true;
	buf_clear(&x->inner);
	if (p->unit && !strcmp(p->unit, "bytes"))
		proto_uint(&x->inner, COUNTER_UNIT, UNIT_BYTES);
	else if (p->unit && strcmp(p->unit, "count") != 0)
		proto_string(&x->inner, COUNTER_UNIT_NAME, p->unit);
	else
		proto_uint(&x->inner, COUNTER_UNIT, UNIT_COUNT);
	buf_clear(&x->name);
	buf_add_str(&x->name, p->name);
	if (p->instance)
		buf_printf(&x->name, " [%u]", p->instance);
	descriptor_begin(x, UUID_COUNTER + x->next_counter, parent);
	proto_string(&x->event, TRACK_NAME, buf_string(&x->name));
	proto_message(&x->event, TRACK_COUNTER, &x->inner);
	descriptor_end(x);
	return UUID_COUNTER + x->next_counter++;
}

static void take_counter(void *ctx, const struct counter_point *p)
{
	struct perfetto *x = ctx;
	uint64_t track = counter_track(x, p);

	event_begin(x, TYPE_COUNTER, track, p->time_ns);
	proto_double(&x->event, EVENT_DOUBLE, p->value);
	event_end(x);
}

static void add_clock(struct perfetto *x, uint64_t id, int64_t ns)
{
	buf_clear(&x->inner);
	proto_uint(&x->inner, CLOCK_ID, id);
	proto_uint(&x->inner, CLOCK_TIMESTAMP, (uint64_t)ns);
	proto_message(&x->event, SNAPSHOT_CLOCKS, &x->inner);
}

/* The recorder's clock stands for the time since the start of the machine, Perfetto's own. */
static void write_head(struct perfetto *x)
{
	const struct trace_start *start = trace_start(x->walk->trace);

	x->zero_ns = start->monotonic_ns > 0 ? start->monotonic_ns : 0;
	buf_clear(&x->event);
	add_clock(x, CLOCK_BOOTTIME_ID, x->zero_ns);
	add_clock(x, CLOCK_MONOTONIC_ID, x->zero_ns);
	if (start->realtime_ns > 0)
		add_clock(x, CLOCK_REALTIME_ID, start->realtime_ns);
	proto_message(&x->packet, PACKET_CLOCK_SNAPSHOT, &x->event);
	proto_uint(&x->packet, PACKET_FIRST, 1);
	packet_write(x, false);
}

static bool any_failed(const struct perfetto *x)
{
	return x->failed || x->ids.failed || x->packet.failed || x->event.failed ||
	       x->note.failed || x->inner.failed || x->interned.failed || x->name.failed;
}

static void release(struct perfetto *x)
{
	buf_release(&x->text);
	buf_release(&x->packet);
	buf_release(&x->event);
	buf_release(&x->note);
	buf_release(&x->inner);
	buf_release(&x->interned);
	buf_release(&x->name);
	event_walk_free(x->walk);
	viewer_ids_release(&x->ids);
	pair_map_release(&x->iids);
	pair_map_release(&x->counters);
	free(x->named_processes);
	free(x->named_threads);
}

static int export_perfetto(const struct trace *t, const struct export_target *to, struct err *err)
{
	struct perfetto x = { .fd = to->fd, .next_iid = 1 };
	const struct event_sink sink = {
		.ctx = &x,
		.track = take_track,
		.slice = take_slice,
		.mark = take_mark,
		.counter = take_counter,
	};
	int rc = -1;

	pair_map_init(&x.iids);
	pair_map_init(&x.counters);
	x.named_processes = calloc(trace_process_count(t) + 1, sizeof(*x.named_processes));
	x.named_threads = calloc(trace_thread_count(t) + 1, sizeof(*x.named_threads));
	if (viewer_ids_init(&x.ids, t) || !x.named_processes || !x.named_threads) {
		err_set(err, "out of memory");
		goto out;
	}
	x.walk = event_walk_new(t, err);
	if (!x.walk)
		goto out;
	write_head(&x);
	if (event_walk_run(x.walk, &sink, err))
		goto out;
	x.text.failed |= any_failed(&x);
	export_flush(&x.text, to->fd, &x.error);
	rc = export_finish(x.error, err);
out:
	release(&x);
	return rc;
}

const struct exporter exporter_perfetto = {
	.name = "perfetto",
	.suffixes = ".pftrace .perfetto-trace .perfetto",
	.write = export_perfetto,
};
