/*
 * The GPU's part of the JSON export: CUDA calls thread by thread, then what the
 * devices did, process by process in order of its start.  To link the two, the
 * GPU's timeline is held in memory; the text is streamed.
 */
#include "export/export_json.h"
#include "timeline/gpu.h"
#include "timeline/timeline.h"

static uint32_t pid_of(const struct trace *t, uint32_t process)
{
	size_t at = process_position(t, process);

	return at < trace_process_count(t) ? trace_process(t, at)->pid : 0;
}

static void write_call(struct exported *x, const struct gpu_timeline *g, const struct gpu_call *c)
{
	struct place innermost = { 0 }, user = { 0 };
	const struct gpu_api *api = gpu_call_api(g, c);
	struct json *j = &x->json;

	export_event_begin(x, "cuda_api", api->name);
	key_string(j, "class", cuda_call_name(api->what));
	key_us(j, "start_us", c->start_ns);
	key_us(j, "end_us", c->end_ns);
	key_uint(j, "correlation_id", c->correlation);
	export_event_thread(x, api->thread);
	if (c->stack)
		gpu_stack_places(g, c->stack, &innermost, &user);
	if (innermost.name) {
		key_string(j, "function", innermost.name);
		key_string(j, "file", innermost.file ? innermost.file : "");
		key_uint(j, "line", innermost.line);
	}
	if (user.name) {
		key_string(j, "user_function", user.name);
		key_string(j, "user_file", user.file ? user.file : "");
		key_uint(j, "user_line", user.line);
	}
	if (api->bytes)
		key_uint(j, "bytes", api->bytes);
	if (!c->ended)
		key_true(j, "open_end");
	export_event_end(x);
}

static void write_three(struct json *j, const char *key, const uint32_t values[3])
{
	json_key(j, key);
	json_array_begin(j);
	for (size_t i = 0; i < 3; i++)
		json_uint(j, values[i]);
	json_array_end(j);
}

static void write_capture(struct json *j, const struct gpu_timeline *g, const struct gpu_capture *c)
{
	struct place innermost = { 0 }, user = { 0 };

	key_us(j, "captured_us", c->time_ns);
	if (c->stack)
		gpu_stack_places(g, c->stack, &innermost, &user);
	if (!user.name)
		return;
	key_string(j, "captured_function", user.name);
	key_string(j, "captured_file", user.file ? user.file : "");
	key_uint(j, "captured_line", user.line);
}

static void activity_begin(struct exported *x, const struct gpu_timeline *g, const char *type,
			   const char *name, const struct gpu_activity *a)
{
	const struct gpu_work *w = gpu_activity_work(g, a);
	struct json *j = &x->json;

	export_event_begin(x, type, name);
	if (a->timed) {
		key_us(j, "start_us", a->start_ns);
		key_us(j, "end_us", a->end_ns);
	} else {
		json_key(j, "start_us");
		json_null(j);
		json_key(j, "end_us");
		json_null(j);
	}
	key_uint(j, "pid", pid_of(x->trace, w->process));
	key_uint(j, "device_id", w->device);
	key_uint(j, "context_id", w->context);
	key_uint(j, "stream_id", w->stream);
	key_uint(j, "correlation_id", gpu_activity_correlation(g, a));
	if (w->graph)
		key_uint(j, "graph_id", w->graph);
	if (w->graph_node)
		key_uint(j, "graph_node_id", w->graph_node);
	if (w->capture != GPU_NONE)
		write_capture(j, g, gpu_capture(g, w->capture));
}

static void write_kernel(struct exported *x, const struct gpu_timeline *g,
			 const struct gpu_activity *a)
{
	const struct gpu_work *w = gpu_activity_work(g, a);
	const struct gpu_kernel_name *name = gpu_kernel_name(g, w->name);
	struct json *j = &x->json;

	activity_begin(x, g, "gpu_kernel", name->brief, a);
	key_string(j, "full_name", name->full);
	write_three(j, "grid_dim", w->grid);
	write_three(j, "block_dim", w->block);
	key_uint(j, "registers", w->registers);
	key_uint(j, "static_shared_bytes", w->static_shared_bytes);
	key_uint(j, "dynamic_shared_bytes", w->dynamic_shared_bytes);
	export_event_end(x);
}

static void write_copy(struct exported *x, const struct gpu_timeline *g,
		       const struct gpu_activity *a)
{
	const struct gpu_work *w = gpu_activity_work(g, a);
	const char *kind = gpu_copy_name(w->copy);
	struct json *j = &x->json;

	activity_begin(x, g, "gpu_memcpy", kind, a);
	key_string(j, "kind", kind);
	key_string(j, "source", gpu_memory_name(w->source));
	key_string(j, "destination", gpu_memory_name(w->destination));
	json_key(j, "async");
	json_bool(j, w->asynchronous);
	key_uint(j, "bytes", w->bytes);
	export_event_end(x);
}

static void write_activity(struct exported *x, const struct gpu_timeline *g,
			   const struct gpu_activity *a)
{
	const struct gpu_work *w = gpu_activity_work(g, a);

	switch (w->kind) {
	case GPU_KERNEL:
		write_kernel(x, g, a);
		break;
	case GPU_COPY:
		write_copy(x, g, a);
		break;
	case GPU_MEMSET:
		activity_begin(x, g, "gpu_memset", "memset", a);
		key_uint(&x->json, "bytes", w->bytes);
		export_event_end(x);
		break;
	case GPU_GRAPH:
		activity_begin(x, g, "gpu_graph", "graph", a);
		export_event_end(x);
		break;
	}
}

static void write_change(struct exported *x, const struct gpu_change *c)
{
	static const char *const states[] = {
		[GPU_STATE_RECORDING] = "recording",
		[GPU_STATE_UNAVAILABLE] = "unavailable",
		[GPU_STATE_PAUSED] = "paused",
		[GPU_STATE_STOPPED] = "stopped",
	};
	bool known = c->state >= GPU_STATE_RECORDING && c->state <= GPU_STATE_STOPPED;

	export_event_begin(x, "gpu_state", known ? states[c->state] : "unknown");
	key_us(&x->json, "start_us", c->time_ns);
	key_uint(&x->json, "pid", pid_of(x->trace, c->process));
	key_string(&x->json, "text", c->text ? c->text : "");
	export_event_end(x);
}

static void write_device(struct exported *x, const struct gpu_device *d)
{
	struct json *j = &x->json;

	export_event_begin(x, "gpu_device", d->name);
	key_uint(j, "pid", pid_of(x->trace, d->process));
	key_uint(j, "device_id", d->number);
	key_uint(j, "memory_bytes", d->memory_bytes);
	key_uint(j, "bandwidth_kb_per_s", d->bandwidth_kb_s);
	key_uint(j, "multiprocessors", d->multiprocessors);
	key_uint(j, "clock_khz", d->clock_khz);
	json_key(j, "compute_capability");
	json_scaled(j, d->capability, 1);
	export_event_end(x);
}

int export_json_gpu(struct exported *x, struct err *err)
{
	struct gpu_timeline *g = NULL;

	if (gpu_timeline_new(&g, x->trace, err))
		return -1;
	for (size_t i = 0; i < gpu_device_count(g); i++)
		write_device(x, gpu_device(g, i));
	for (size_t i = 0; i < gpu_change_count(g); i++)
		write_change(x, gpu_change(g, i));
	for (size_t i = 0; i < gpu_call_count(g); i++)
		write_call(x, g, gpu_call(g, i));
	for (size_t i = 0; i < gpu_activity_count(g); i++)
		write_activity(x, g, gpu_activity(g, i));
	gpu_timeline_free(g);
	return 0;
}
