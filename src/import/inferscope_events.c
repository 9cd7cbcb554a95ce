/* What the events of our own export become. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "format/trace.h"
#include "import/inferscope_json.h"

struct open_scope {
	struct build_span span;
	bool open;
};

static uint32_t u32(uint64_t value)
{
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

uint32_t inferscope_process(struct inferscope_json *x, uint64_t pid)
{
	return build_process(x->build, pid, u32(pid));
}

static uint32_t thread_of(struct inferscope_json *x, const struct inferscope_event *e)
{
	uint32_t process = inferscope_process(x, e->pid);

	return process ? build_thread(x->build, process, e->thread, u32(e->tid)) : 0;
}

static int add_span(struct inferscope_json *x, const struct inferscope_event *e,
		    struct build_span s)
{
	s.thread = thread_of(x, e);
	s.start_ns = e->start_ns;
	s.end_ns = e->end_ns > e->start_ns ? e->end_ns : e->start_ns;
	if (e->open_end)
		s.end_ns = BUILD_OPEN;
	return s.thread && s.name ? build_span_add(x->build, &s) : -1;
}

static int add_function(struct inferscope_json *x, const struct inferscope_event *e)
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

static int add_layer(struct inferscope_json *x, const struct inferscope_event *e)
{
	bool is_root = e->name == e->class_name && e->root == e->class_name;

	return add_span(x, e,
			(struct build_span){
				.kind = BUILD_LAYER,
				.name = build_layer(x->build, is_root ? 0 : e->name, e->class_name,
						    is_root ? 0 : e->root),
			});
}

static uint64_t scope_key(const struct inferscope_event *e)
{
	return (e->pid * 0x9e3779b97f4a7c15u) ^ e->instance;
}

static int begin_scope(struct inferscope_json *x, const struct inferscope_event *e)
{
	struct open_scope *grown =
		array_grow(x->scopes, &x->scope_cap, x->scope_count + 1, sizeof(*grown));

	x->scopes = grown ? grown : x->scopes;
	if (!grown || x->scope_count >= UINT32_MAX - 1)
		return -1;
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

static int end_scope(struct inferscope_json *x, const struct inferscope_event *e)
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

static int add_mark(struct inferscope_json *x, const struct inferscope_event *e)
{
	return add_span(
		x, e,
		(struct build_span){ .kind = BUILD_MARK, .name = e->name, .detail = u32(e->task) });
}

static int add_counter(struct inferscope_json *x, const struct inferscope_event *e)
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

/* The user's line, and the innermost one where it is another: all that the export says. */
static int stack_of(struct inferscope_json *x, const struct inferscope_event *e, uint32_t *stack)
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

static int add_call(struct inferscope_json *x, const struct inferscope_event *e)
{
	struct build_span s = {
		.kind = BUILD_CUDA,
		.name = e->name,
		.detail = u32(e->correlation),
	};
	const char *class_name = build_text(x->build, e->class_name);

	for (uint32_t i = 0; i <= CUDA_CALL_GRAPH_BUILD; i++)
		if (!strcmp(class_name, cuda_call_name((enum cuda_call)i)))
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

static int add_activity(struct inferscope_json *x, const struct inferscope_event *e, uint8_t kind)
{
	const char *copy = build_text(x->build, e->kind);
	struct build_activity a = {
		.start_ns = e->start_ns,
		.end_ns = e->end_ns > e->start_ns ? e->end_ns : e->start_ns,
		.process = inferscope_process(x, e->pid),
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

static int add_kernel(struct inferscope_json *x, const struct inferscope_event *e)
{
	return add_activity(x, e, RECORD_GPU_KERNEL);
}

static int add_copy(struct inferscope_json *x, const struct inferscope_event *e)
{
	return add_activity(x, e, RECORD_GPU_COPY);
}

static int add_memset(struct inferscope_json *x, const struct inferscope_event *e)
{
	return add_activity(x, e, RECORD_GPU_MEMSET);
}

static int add_graph(struct inferscope_json *x, const struct inferscope_event *e)
{
	return add_activity(x, e, RECORD_GPU_GRAPH);
}

static int add_device(struct inferscope_json *x, const struct inferscope_event *e)
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
	int (*add)(struct inferscope_json *x, const struct inferscope_event *e);
	bool timed; /* it needs a start */
} types[] = {
	{ "cpu_function", add_function, true }, { "layer", add_layer, true },
	{ "scope_enter", begin_scope, true },   { "scope_exit", end_scope, true },
	{ "instant", add_mark, true },          { "counter", add_counter, true },
	{ "cuda_api", add_call, true },         { "gpu_kernel", add_kernel, false },
	{ "gpu_memcpy", add_copy, false },      { "gpu_memset", add_memset, false },
	{ "gpu_graph", add_graph, false },      { "gpu_device", add_device, false },
};

int inferscope_event_add(struct inferscope_json *x, struct inferscope_event *e)
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

int inferscope_json_finish(struct inferscope_json *x)
{
	for (size_t i = 0; i < x->scope_count; i++)
		if (x->scopes[i].open && build_span_add(x->build, &x->scopes[i].span))
			return -1;
	build_window(x->build, 0, x->wall_ns);
	return x->unmapped && build_note(x->build,
					 "%llu of %llu events have no counterpart here: samples "
					 "and series are not imported",
					 (unsigned long long)x->unmapped,
					 (unsigned long long)x->events)
		       ? -1
		       : 0;
}
