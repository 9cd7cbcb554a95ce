#include "import/inferscope_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "import/json_fields.h"

#define TIME_MAX ((int64_t)1 << 61)

struct open_scope {
	struct build_span span;
	bool open;
};

/* An event with all that one may have; names are 0 and numbers 0 where they are not given. */
struct event {
	uint32_t type, name, file, class_name, root;
	uint32_t function, user_function, user_file;
	uint32_t full_name, kind, source, destination;
	int64_t start_ns, end_ns;
	bool has_start, has_end, bad_time;
	bool sampled, asynchronous, open_end, has_unit;
	uint64_t line, user_line, pid, tid, thread, instance, task;
	uint64_t correlation, device, context, stream, bytes, graph, graph_node;
	uint64_t grid[3], block[3], registers, static_shared, dynamic_shared;
	uint64_t memory, bandwidth, multiprocessors, clock;
	int64_t capability_tenths;
	double value;
	bool has_value;
};

enum field_type { FIELD_NAME, FIELD_NUMBER, FIELD_SHAPE, FIELD_TRUE };

#define FIELD(key, type, member)                                           \
	{                                                                  \
		key, sizeof(key) - 1, type, offsetof(struct event, member) \
	}

static const struct {
	const char *key;
	size_t bytes;
	enum field_type type;
	size_t offset;
} fields[] = {
	FIELD("event_type", FIELD_NAME, type),
	FIELD("name", FIELD_NAME, name),
	FIELD("file", FIELD_NAME, file),
	FIELD("line", FIELD_NUMBER, line),
	FIELD("pid", FIELD_NUMBER, pid),
	FIELD("tid", FIELD_NUMBER, tid),
	FIELD("thread", FIELD_NUMBER, thread),
	FIELD("class", FIELD_NAME, class_name),
	FIELD("root", FIELD_NAME, root),
	FIELD("function", FIELD_NAME, function),
	FIELD("user_function", FIELD_NAME, user_function),
	FIELD("user_file", FIELD_NAME, user_file),
	FIELD("user_line", FIELD_NUMBER, user_line),
	FIELD("full_name", FIELD_NAME, full_name),
	FIELD("kind", FIELD_NAME, kind),
	FIELD("source", FIELD_NAME, source),
	FIELD("destination", FIELD_NAME, destination),
	FIELD("instance", FIELD_NUMBER, instance),
	FIELD("task", FIELD_NUMBER, task),
	FIELD("correlation_id", FIELD_NUMBER, correlation),
	FIELD("device_id", FIELD_NUMBER, device),
	FIELD("context_id", FIELD_NUMBER, context),
	FIELD("stream_id", FIELD_NUMBER, stream),
	FIELD("bytes", FIELD_NUMBER, bytes),
	FIELD("graph_id", FIELD_NUMBER, graph),
	FIELD("graph_node_id", FIELD_NUMBER, graph_node),
	FIELD("grid_dim", FIELD_SHAPE, grid),
	FIELD("block_dim", FIELD_SHAPE, block),
	FIELD("registers", FIELD_NUMBER, registers),
	FIELD("static_shared_bytes", FIELD_NUMBER, static_shared),
	FIELD("dynamic_shared_bytes", FIELD_NUMBER, dynamic_shared),
	FIELD("memory_bytes", FIELD_NUMBER, memory),
	FIELD("bandwidth_kb_per_s", FIELD_NUMBER, bandwidth),
	FIELD("multiprocessors", FIELD_NUMBER, multiprocessors),
	FIELD("clock_khz", FIELD_NUMBER, clock),
	FIELD("async", FIELD_TRUE, asynchronous),
	FIELD("sampled", FIELD_TRUE, sampled),
	FIELD("open_end", FIELD_TRUE, open_end),
};

#define IS(text) (bytes == sizeof(text) - 1 && !memcmp(key, text, sizeof(text) - 1))

void inferscope_json_init(struct inferscope_json *x, struct build *b)
{
	memset(x, 0, sizeof(*x));
	x->build = b;
	keymap_init(&x->scope_at);
}

void inferscope_json_release(struct inferscope_json *x)
{
	keymap_release(&x->scope_at);
	free(x->scopes);
}

static int take_time(struct json_scan *s, int64_t *ns, bool *given, bool *bad)
{
	struct json_value v;
	int rc = json_take_plain(s, &v);

	if (rc != 1)
		return rc;
	*given = true;
	if (!json_micros(&v, ns) || *ns >= TIME_MAX || *ns <= -TIME_MAX)
		*bad = true;
	return 0;
}

static int take_true(struct json_scan *s, bool *value)
{
	struct json_value v;

	if (json_take(s, &v))
		return -1;
	*value = v.kind == JSON_TRUE;
	return v.kind == JSON_OBJECT || v.kind == JSON_ARRAY ? json_leave(s, true) : 0;
}

static int take_tenths(struct json_scan *s, int64_t *tenths)
{
	struct json_value v;
	int rc = json_take_plain(s, &v);

	if (rc == 1)
		json_decimal(v.text, v.bytes, 1, tenths);
	return rc < 0 ? -1 : 0;
}

static int take_field(struct inferscope_json *x, struct json_scan *s, struct event *e, size_t i)
{
	void *to = (char *)e + fields[i].offset;

	switch (fields[i].type) {
	case FIELD_NAME:
		return json_take_name(x->build, s, to) < 0 ? -1 : 0;
	case FIELD_NUMBER:
		return json_take_number(s, to, NULL) < 0 ? -1 : 0;
	case FIELD_SHAPE:
		return json_take_shape(s, to) < 0 ? -1 : 0;
	case FIELD_TRUE:
		return take_true(s, to);
	}
	return -1;
}

static int take_member(struct inferscope_json *x, struct json_scan *s, struct event *e,
		       const char *key, size_t bytes)
{
	struct json_value v;
	int rc;

	if (IS("start_us"))
		return take_time(s, &e->start_ns, &e->has_start, &e->bad_time);
	if (IS("end_us"))
		return take_time(s, &e->end_ns, &e->has_end, &e->bad_time);
	if (IS("compute_capability"))
		return take_tenths(s, &e->capability_tenths);
	if (IS("value")) {
		rc = json_take_plain(s, &v);
		e->has_value = rc == 1;
		if (rc == 1)
			e->value = json_real(&v);
		return rc < 0 ? -1 : 0;
	}
	e->has_unit |= IS("unit");
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (fields[i].bytes == bytes && !memcmp(fields[i].key, key, bytes))
			return take_field(x, s, e, i);
	return json_skip(s);
}

static uint32_t u32(uint64_t value)
{
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static uint32_t process_of(struct inferscope_json *x, uint64_t pid)
{
	return build_process(x->build, pid, u32(pid));
}

static uint32_t thread_of(struct inferscope_json *x, const struct event *e)
{
	uint32_t process = process_of(x, e->pid);

	return process ? build_thread(x->build, process, e->thread, u32(e->tid)) : 0;
}

static int add_span(struct inferscope_json *x, const struct event *e, struct build_span s)
{
	s.thread = thread_of(x, e);
	s.start_ns = e->start_ns;
	s.end_ns = e->end_ns > e->start_ns ? e->end_ns : e->start_ns;
	if (e->open_end)
		s.end_ns = BUILD_OPEN;
	return s.thread && s.name ? build_span_add(x->build, &s) : -1;
}

static int add_function(struct inferscope_json *x, const struct event *e)
{
	if (e->sampled) {
		x->unmapped++;
		return 0;
	}
	return add_span(x, e,
			(struct build_span){
				.kind = BUILD_PYTHON,
				.name = build_function(x->build, e->name, e->file, u32(e->line)),
			});
}

static int add_layer(struct inferscope_json *x, const struct event *e)
{
	bool is_root = e->name == e->class_name && e->root == e->class_name;

	return add_span(x, e,
			(struct build_span){
				.kind = BUILD_LAYER,
				.name = build_layer(x->build, is_root ? 0 : e->name, e->class_name,
						    is_root ? 0 : e->root),
			});
}

static uint64_t scope_key(const struct event *e)
{
	return (e->pid * 0x9e3779b97f4a7c15u) ^ e->instance;
}

static int begin_scope(struct inferscope_json *x, const struct event *e)
{
	struct open_scope *grown =
		array_grow(x->scopes, &x->scope_cap, x->scope_count + 1, sizeof(*grown));

	if (!grown || x->scope_count >= UINT32_MAX - 1)
		return -1;
	x->scopes = grown;
	grown += x->scope_count++;
	*grown = (struct open_scope){
		.span = { .start_ns = e->start_ns,
			  .end_ns = BUILD_OPEN,
			  .thread = thread_of(x, e),
			  .name = e->name,
			  .detail = u32(e->task),
			  .kind = BUILD_SCOPE },
		.open = true,
	};
	if (!grown->span.thread || !e->name)
		return -1;
	return keymap_put(&x->scope_at, scope_key(e), (uint32_t)x->scope_count);
}

static int end_scope(struct inferscope_json *x, const struct event *e)
{
	uint32_t at = keymap_find(&x->scope_at, scope_key(e));
	struct open_scope *o = at == KEYMAP_NONE ? NULL : &x->scopes[at - 1];

	if (!o || !o->open) {
		x->unmapped++;
		return 0;
	}
	o->open = false;
	o->span.end_ns = e->start_ns > o->span.start_ns ? e->start_ns : o->span.start_ns;
	return build_span_add(x->build, &o->span);
}

static int add_mark(struct inferscope_json *x, const struct event *e)
{
	return add_span(
		x, e,
		(struct build_span){ .kind = BUILD_MARK, .name = e->name, .detail = u32(e->task) });
}

static int add_counter(struct inferscope_json *x, const struct event *e)
{
	const struct build_span s = {
		.start_ns = e->start_ns,
		.value = e->value,
		.thread = e->has_unit ? 0 : thread_of(x, e),
		.name = e->name,
		.kind = BUILD_COUNTER,
	};

	if (e->has_unit || !e->has_value) {
		x->unmapped++;
		return 0;
	}
	return s.thread && s.name ? build_span_add(x->build, &s) : -1;
}

static const char *const call_classes[] = {
	[CUDA_CALL_OTHER] = "other",
	[CUDA_CALL_LAUNCH] = "launch",
	[CUDA_CALL_GRAPH_LAUNCH] = "graph_launch",
	[CUDA_CALL_COPY] = "copy",
	[CUDA_CALL_MEMSET] = "memset",
	[CUDA_CALL_SYNC_DEVICE] = "sync_device",
	[CUDA_CALL_SYNC_STREAM] = "sync_stream",
	[CUDA_CALL_SYNC_EVENT] = "sync_event",
	[CUDA_CALL_ALLOC] = "alloc",
	[CUDA_CALL_FREE] = "free",
	[CUDA_CALL_HOST_ALLOC] = "host_alloc",
	[CUDA_CALL_HOST_FREE] = "host_free",
	[CUDA_CALL_STREAM_CREATE] = "stream_create",
	[CUDA_CALL_CONTEXT_CREATE] = "context_create",
	[CUDA_CALL_MODULE_LOAD] = "module_load",
	[CUDA_CALL_GRAPH_BUILD] = "graph_build",
};

/* The user's line, and the innermost one where it is another: all that the export says. */
static int stack_of(struct inferscope_json *x, const struct event *e, uint32_t *stack)
{
	uint32_t inner = 0, user = 0;

	*stack = 0;
	if (e->user_function) {
		user = build_function(x->build, e->user_function, e->user_file, u32(e->user_line));
		*stack = user ? build_frame(x->build, 0, user) : 0;
		if (!*stack)
			return -1;
	}
	if (e->function) {
		inner = build_function(x->build, e->function, e->file, u32(e->line));
		if (inner && inner != user)
			*stack = build_frame(x->build, *stack, inner);
		if (!inner || !*stack)
			return -1;
	}
	return 0;
}

static int add_call(struct inferscope_json *x, const struct event *e)
{
	struct build_span s = {
		.kind = BUILD_CUDA,
		.name = e->name,
		.detail = u32(e->correlation),
	};
	const char *class_name = build_text(x->build, e->class_name);

	for (uint32_t i = 0; i < sizeof(call_classes) / sizeof(*call_classes); i++)
		if (!strcmp(class_name, call_classes[i]))
			s.call = (i + 1) & 31;
	return stack_of(x, e, &s.stack) ? -1 : add_span(x, e, s);
}

static const struct {
	const char *name;
	enum gpu_copy copy;
} copies[] = {
	{ "H2D", GPU_COPY_HOST_TO_DEVICE },
	{ "D2H", GPU_COPY_DEVICE_TO_HOST },
	{ "D2D", GPU_COPY_DEVICE_TO_DEVICE },
	{ "H2H", GPU_COPY_HOST_TO_HOST },
	{ "peer", GPU_COPY_PEER },
};

static const char *const memories[] = {
	[GPU_MEMORY_PAGEABLE] = "pageable", [GPU_MEMORY_PINNED] = "pinned",
	[GPU_MEMORY_DEVICE] = "device",     [GPU_MEMORY_ARRAY] = "array",
	[GPU_MEMORY_MANAGED] = "managed",
};

static uint8_t memory_of(const struct inferscope_json *x, uint32_t name)
{
	const char *text = build_text(x->build, name);

	for (size_t i = 1; i < sizeof(memories) / sizeof(*memories); i++)
		if (!strcmp(text, memories[i]))
			return (uint8_t)i;
	return GPU_MEMORY_UNKNOWN;
}

static int add_activity(struct inferscope_json *x, const struct event *e, uint8_t kind)
{
	const char *copy = build_text(x->build, e->kind);
	struct build_activity a = {
		.start_ns = e->start_ns,
		.end_ns = e->end_ns > e->start_ns ? e->end_ns : e->start_ns,
		.process = process_of(x, e->pid),
		.name = e->full_name ? e->full_name : e->name,
		.device = u32(e->device),
		.context = u32(e->context),
		.stream = u32(e->stream),
		.correlation = u32(e->correlation),
		.registers = u32(e->registers),
		.static_shared_bytes = u32(e->static_shared),
		.dynamic_shared_bytes = u32(e->dynamic_shared),
		.graph = u32(e->graph),
		.graph_node = e->graph_node,
		.bytes = e->bytes,
		.kind = kind,
		.asynchronous = e->asynchronous,
		.told = true,
		.source = memory_of(x, e->source),
		.destination = memory_of(x, e->destination),
	};

	for (size_t i = 0; i < 3; i++) {
		a.grid[i] = u32(e->grid[i]);
		a.block[i] = u32(e->block[i]);
	}
	for (size_t i = 0; i < sizeof(copies) / sizeof(*copies); i++)
		if (!strcmp(copy, copies[i].name))
			a.copy = (uint8_t)copies[i].copy;
	if (!e->has_start || !e->has_end) {
		x->unmapped++; /* the device did not say when */
		return 0;
	}
	return a.process && a.name ? build_activity_add(x->build, &a) : -1;
}

static int add_kernel(struct inferscope_json *x, const struct event *e)
{
	return add_activity(x, e, RECORD_GPU_KERNEL);
}

static int add_copy(struct inferscope_json *x, const struct event *e)
{
	return add_activity(x, e, RECORD_GPU_COPY);
}

static int add_memset(struct inferscope_json *x, const struct event *e)
{
	return add_activity(x, e, RECORD_GPU_MEMSET);
}

static int add_device(struct inferscope_json *x, const struct event *e)
{
	const struct build_device d = {
		.number = u32(e->device),
		.name = build_text(x->build, e->name),
		.memory_bytes = e->memory,
		.bandwidth_kb_s = e->bandwidth,
		.multiprocessors = u32(e->multiprocessors),
		.clock_khz = u32(e->clock),
		.capability = e->capability_tenths > 0 && e->capability_tenths < 10000
				      ? (uint32_t)e->capability_tenths
				      : 0,
	};

	return build_device_add(x->build, &d);
}

static const struct {
	const char *type;
	int (*add)(struct inferscope_json *x, const struct event *e);
	bool timed; /* it needs a start */
} types[] = {
	{ "cpu_function", add_function, true }, { "layer", add_layer, true },
	{ "scope_enter", begin_scope, true },   { "scope_exit", end_scope, true },
	{ "instant", add_mark, true },          { "counter", add_counter, true },
	{ "cuda_api", add_call, true },         { "gpu_kernel", add_kernel, false },
	{ "gpu_memcpy", add_copy, false },      { "gpu_memset", add_memset, false },
	{ "gpu_device", add_device, false },
};

static int event_add(struct inferscope_json *x, struct event *e)
{
	const char *type = build_text(x->build, e->type);

	x->events++;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		if (strcmp(type, types[i].type) != 0)
			continue;
		if (e->bad_time || !e->name || (types[i].timed && !e->has_start))
			break;
		return types[i].add(x, e);
	}
	x->unmapped++;
	return 0;
}

static int read_event(struct inferscope_json *x, struct json_scan *s)
{
	struct event e = { 0 };
	const char *key;
	size_t bytes;
	int rc = json_take_object(s);

	if (rc != 1)
		return rc;
	for (bool first = true; (rc = json_next_key(s, &key, &bytes, first)) == 1; first = false)
		if (take_member(x, s, &e, key, bytes))
			return -1;
	if (rc < 0)
		return -1;
	return event_add(x, &e) ? json_no_memory(s) : 0;
}

int inferscope_json_read_events(struct inferscope_json *x, struct json_scan *s)
{
	int rc = json_take_array(s);

	if (rc != 1)
		return rc;
	for (bool first = true; (rc = json_next_item(s, first)) == 1; first = false)
		if (read_event(x, s))
			return -1;
	return rc;
}

/* {"key": ..., "value": ...} */
static int read_info(struct inferscope_json *x, struct json_scan *s)
{
	uint32_t info_key = 0, value = 0;
	const char *key;
	size_t bytes;
	int rc = json_take_object(s);

	if (rc != 1)
		return rc;
	for (bool first = true; (rc = json_next_key(s, &key, &bytes, first)) == 1; first = false) {
		uint32_t unused, *to = IS("key") ? &info_key : IS("value") ? &value : &unused;

		if (json_take_name(x->build, s, to) < 0)
			return -1;
	}
	/* Facts of an import would make this one look like that of another tool. */
	if (rc < 0 || !info_key || !strncmp(build_text(x->build, info_key), "import.", 7))
		return rc;
	return build_info(x->build, build_text(x->build, info_key), build_text(x->build, value))
		       ? json_no_memory(s)
		       : 0;
}

static int read_note(struct inferscope_json *x, struct json_scan *s)
{
	uint32_t text = 0;

	if (json_take_name(x->build, s, &text) < 0)
		return -1;
	return text && build_note(x->build, "%s", build_text(x->build, text)) ? json_no_memory(s)
									      : 0;
}

/* A process, or a thread of one. */
static int read_owner(struct inferscope_json *x, struct json_scan *s, bool thread)
{
	uint64_t pid = 0, id = 0, tid = 0;
	uint32_t name = 0, process;
	const char *key;
	size_t bytes;
	int rc = json_take_object(s);

	if (rc != 1)
		return rc;
	for (bool first = true; (rc = json_next_key(s, &key, &bytes, first)) == 1; first = false) {
		int failed = IS("name")  ? json_take_name(x->build, s, &name)
			     : IS("pid") ? json_take_number(s, &pid, NULL)
			     : IS("id")  ? json_take_number(s, &id, NULL)
			     : IS("tid") ? json_take_number(s, &tid, NULL)
					 : json_skip(s);

		if (failed < 0)
			return -1;
	}
	process = rc < 0 ? 0 : process_of(x, pid);
	if (rc < 0)
		return -1;
	if (thread && process)
		process = build_thread(x->build, process, id, u32(tid));
	if (!process)
		return json_no_memory(s);
	if (thread)
		build_thread_name(x->build, process, name);
	else
		build_process_name(x->build, process, name);
	return 0;
}

static int read_process(struct inferscope_json *x, struct json_scan *s)
{
	return read_owner(x, s, false);
}

static int read_thread(struct inferscope_json *x, struct json_scan *s)
{
	return read_owner(x, s, true);
}

static int read_list(struct inferscope_json *x, struct json_scan *s,
		     int (*read)(struct inferscope_json *, struct json_scan *))
{
	int rc = json_take_array(s);

	if (rc != 1)
		return rc;
	for (bool first = true; (rc = json_next_item(s, first)) == 1; first = false)
		if (read(x, s))
			return -1;
	return rc;
}

int inferscope_json_read_run(struct inferscope_json *x, struct json_scan *s)
{
	bool given = false, bad = false;
	const char *key;
	size_t bytes;
	int rc = json_take_object(s);

	if (rc != 1)
		return rc;
	for (bool first = true; (rc = json_next_key(s, &key, &bytes, first)) == 1; first = false) {
		int failed = IS("info")        ? read_list(x, s, read_info)
			     : IS("notes")     ? read_list(x, s, read_note)
			     : IS("processes") ? read_list(x, s, read_process)
			     : IS("threads")   ? read_list(x, s, read_thread)
			     : IS("wall_us")   ? take_time(s, &x->wall_ns, &given, &bad)
					       : json_skip(s);

		if (failed)
			return -1;
	}
	if (bad || x->wall_ns < 0)
		x->wall_ns = 0;
	return rc;
}

int inferscope_json_finish(struct inferscope_json *x)
{
	for (size_t i = 0; i < x->scope_count; i++)
		if (x->scopes[i].open && build_span_add(x->build, &x->scopes[i].span))
			return -1;
	build_window(x->build, 0, x->wall_ns);
	return x->unmapped && build_note(
				      x->build,
				      "%llu of %llu events have no counterpart here: what samples "
				      "and series tell is not imported",
				      (unsigned long long)x->unmapped,
				      (unsigned long long)x->events)
		       ? -1
		       : 0;
}
