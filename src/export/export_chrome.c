/*
 * Chrome's trace event format (JSON), with the words of PyTorch's profiler where it has them:
 * opens in the Perfetto UI and chrome://tracing, and tools for PyTorch's traces read it.
 *
 * Times are microseconds with three decimals, exact; `baseTimeNanoseconds` is the date of their
 * zero.  One event a line.
 */
#include <stdlib.h>

#include "base/json.h"
#include "export/export.h"
#include "export/viewer_ids.h"
#include "tables/table_source.h"

struct chrome {
	struct event_walk *walk;
	struct viewer_ids ids;
	struct buf text, name;
	struct json json;
	bool *named_processes; /* by position */
	size_t named_gpus;
	bool named_machine;
	int fd, error;
};

static void key_string(struct chrome *x, const char *key, const char *value)
{
	json_key(&x->json, key);
	json_string(&x->json, value);
}

static void key_uint(struct chrome *x, const char *key, uint64_t value)
{
	json_key(&x->json, key);
	json_uint(&x->json, value);
}

static void key_us(struct chrome *x, const char *key, int64_t ns)
{
	json_key(&x->json, key);
	json_scaled(&x->json, ns, 3);
}

static void event_begin(struct chrome *x, const char *phase, uint32_t pid)
{
	if (x->text.len >= EXPORT_WRITE_BYTES)
		export_flush(&x->text, x->fd, &x->error);
	json_object_begin(&x->json);
	key_string(x, "ph", phase);
	key_uint(x, "pid", pid);
}

static uint32_t track_pid(struct chrome *x, const struct track *t)
{
	return t->kind == TRACK_STREAM
		       ? viewer_gpu_pid(&x->ids, viewer_gpu(&x->ids, t->process, t->device))
		       : viewer_pid(&x->ids, t->process);
}

/* Names and orders. */

static void metadata_begin(struct chrome *x, const char *what, uint32_t pid, const uint32_t *tid)
{
	event_begin(x, "M", pid);
	if (tid)
		key_uint(x, "tid", *tid);
	key_string(x, "name", what);
	json_key(&x->json, "args");
	json_object_begin(&x->json);
}

static void metadata_end(struct chrome *x)
{
	json_object_end(&x->json);
	json_object_end(&x->json);
}

static void metadata(struct chrome *x, const char *what, uint32_t pid, const uint32_t *tid,
		     const char *name)
{
	metadata_begin(x, what, pid, tid);
	key_string(x, "name", name);
	metadata_end(x);
}

static void sort_index(struct chrome *x, const char *what, uint32_t pid, const uint32_t *tid,
		       uint64_t index)
{
	metadata_begin(x, what, pid, tid);
	key_uint(x, "sort_index", index);
	metadata_end(x);
}

static void name_process(struct chrome *x, uint32_t process)
{
	const struct trace *t = x->walk->trace;
	size_t at = process_position(t, process);
	uint32_t pid = viewer_pid(&x->ids, process);
	bool *named = at < trace_process_count(t) ? &x->named_processes[at] : &x->named_machine;

	if (*named)
		return;
	*named = true;
	metadata(x, "process_name", pid, NULL,
		 at < trace_process_count(t) ? trace_process(t, at)->name : "system");
	sort_index(x, "process_sort_index", pid, NULL, at);
}

static void name_gpu(struct chrome *x, const struct track *t)
{
	size_t gpu = viewer_gpu(&x->ids, t->process, t->device);
	uint32_t pid = viewer_gpu_pid(&x->ids, gpu);

	if (gpu < x->named_gpus || x->ids.failed)
		return;
	x->named_gpus = gpu + 1;
	buf_clear(&x->name);
	viewer_add_gpu_name(&x->name, x->walk, &x->ids.gpus[gpu]);
	metadata(x, "process_name", pid, NULL, buf_string(&x->name));
	sort_index(x, "process_sort_index", pid, NULL, pid);
}

static void take_track(void *ctx, const struct track *t)
{
	struct chrome *x = ctx;
	uint32_t pid = track_pid(x, t), tid = viewer_tid(&x->ids, t);
	/* Steps first, then each thread with what belongs to it. */
	uint64_t order = t->kind == TRACK_STEPS   ? t->stream
			 : t->thread == NO_THREAD ? (uint64_t)t->stream * 100 + t->lane
						  : 1000 + 100 * (uint64_t)t->thread +
							    (uint64_t)t->kind * 20 + t->lane;

	if (t->kind == TRACK_STREAM)
		name_gpu(x, t);
	else
		name_process(x, t->process);
	buf_clear(&x->name);
	track_add_name(&x->name, x->walk, t);
	metadata(x, "thread_name", pid, &tid, buf_string(&x->name));
	sort_index(x, "thread_sort_index", pid, &tid, order);
}

/* Slices. */

static void fact_integer(void *ctx, const char *key, int64_t value)
{
	struct chrome *x = ctx;

	json_key(&x->json, key);
	json_int(&x->json, value);
}

static void fact_text(void *ctx, const char *key, const char *value)
{
	key_string(ctx, key, value);
}

static void fact_three(void *ctx, const char *key, const uint32_t values[3])
{
	struct chrome *x = ctx;

	json_key(&x->json, key);
	json_array_begin(&x->json);
	for (size_t i = 0; i < 3; i++)
		json_uint(&x->json, values[i]);
	json_array_end(&x->json);
}

static void fact_metadata(void *ctx, const char *key, const uint8_t *args, size_t bytes)
{
	struct chrome *x = ctx;

	json_key(&x->json, key);
	args_add_json(&x->json, args, bytes);
}

static void write_flow(struct chrome *x, const struct slice *s, const char *phase, uint64_t id)
{
	event_begin(x, phase, track_pid(x, s->track));
	key_uint(x, "tid", viewer_tid(&x->ids, s->track));
	key_us(x, "ts", s->start_ns);
	key_string(x, "cat", "ac2g");
	key_string(x, "name", "ac2g");
	key_uint(x, "id", id);
	if (*phase == 'f')
		key_string(x, "bp", "e");
	json_object_end(&x->json);
}

/* From a launch to each thing that it started; the number is that of the activity. */
static void write_flows(struct chrome *x, const struct slice *s)
{
	const struct gpu_timeline *g = x->walk->gpu;

	if (s->kind == SLICE_ACTIVITY && slice_launch(x->walk, s) != GPU_NONE)
		write_flow(x, s, "f", s->index + 1);
	if (s->kind != SLICE_CALL)
		return;
	for (size_t i = 0; i < gpu_call_activities(g, gpu_call(g, s->index)); i++) {
		size_t activity = gpu_call_activity(g, gpu_call(g, s->index), i);

		if (gpu_activity(g, activity)->timed)
			write_flow(x, s, "s", activity + 1);
	}
}

static void take_slice(void *ctx, const struct slice *s)
{
	struct chrome *x = ctx;
	const struct fact_sink facts = {
		.ctx = x,
		.integer = fact_integer,
		.text = fact_text,
		.three = fact_three,
		.metadata = fact_metadata,
	};

	event_begin(x, "X", track_pid(x, s->track));
	key_uint(x, "tid", viewer_tid(&x->ids, s->track));
	key_us(x, "ts", s->start_ns);
	key_us(x, "dur", s->end_ns - s->start_ns);
	key_string(x, "cat", slice_category(x->walk, s));
	buf_clear(&x->name);
	slice_add_name(&x->name, x->walk, s);
	key_string(x, "name", buf_string(&x->name));
	json_key(&x->json, "args");
	json_object_begin(&x->json);
	slice_write_facts(x->walk, s, &facts);
	json_object_end(&x->json);
	json_object_end(&x->json);
	write_flows(x, s);
}

static void take_mark(void *ctx, const struct track *t, const struct annotation *a)
{
	struct chrome *x = ctx;
	const char *name = trace_string(x->walk->trace, a->name);

	event_begin(x, "i", track_pid(x, t));
	key_uint(x, "tid", viewer_tid(&x->ids, t));
	key_us(x, "ts", a->time_ns);
	key_string(x, "s", "t");
	key_string(x, "cat", "mark");
	key_string(x, "name", name ? name : "(unknown)");
	json_key(&x->json, "args");
	args_add_json(&x->json, a->args, a->args_bytes);
	json_object_end(&x->json);
}

static void take_counter(void *ctx, const struct counter_point *p)
{
	struct chrome *x = ctx;

	name_process(x, p->process);
	event_begin(x, "C", viewer_pid(&x->ids, p->process));
	key_us(x, "ts", p->time_ns);
	buf_clear(&x->name);
	buf_add_str(&x->name, p->name);
	if (p->instance)
		buf_printf(&x->name, " [%u]", p->instance);
	key_string(x, "name", buf_string(&x->name));
	json_key(&x->json, "args");
	json_object_begin(&x->json);
	json_key(&x->json, "value");
	json_double(&x->json, p->value);
	json_object_end(&x->json);
	json_object_end(&x->json);
}

static void write_devices(struct chrome *x)
{
	json_key(&x->json, "deviceProperties");
	json_array_begin(&x->json);
	for (size_t i = 0; i < gpu_device_count(x->walk->gpu); i++) {
		const struct gpu_device *d = gpu_device(x->walk->gpu, i);

		json_object_begin(&x->json);
		key_uint(x, "id", d->number);
		key_string(x, "name", d->name);
		key_uint(x, "totalGlobalMem", d->memory_bytes);
		key_uint(x, "computeMajor", d->capability / 10);
		key_uint(x, "computeMinor", d->capability % 10);
		key_uint(x, "numSms", d->multiprocessors);
		json_object_end(&x->json);
	}
	json_array_end(&x->json);
}

static void write_head(struct chrome *x)
{
	int64_t start_ns = trace_start(x->walk->trace)->realtime_ns;

	json_object_begin(&x->json);
	key_uint(x, "schemaVersion", 1);
	key_string(x, "displayTimeUnit", "ms");
	key_uint(x, "baseTimeNanoseconds", start_ns > 0 ? (uint64_t)start_ns : 0);
	key_string(x, "writer", "inferscope " INFERSCOPE_VERSION);
	write_devices(x);
	json_key(&x->json, "traceEvents");
	json_array_begin(&x->json);
}

static int export_chrome(const struct trace *t, const struct export_target *to, struct err *err)
{
	struct chrome x = { .fd = to->fd };
	const struct event_sink sink = {
		.ctx = &x,
		.track = take_track,
		.slice = take_slice,
		.mark = take_mark,
		.counter = take_counter,
	};
	int rc = -1;

	buf_init(&x.text);
	buf_init(&x.name);
	json_init(&x.json, &x.text, JSON_LINES);
	x.named_processes = calloc(trace_process_count(t) + 1, sizeof(*x.named_processes));
	if (viewer_ids_init(&x.ids, t) || !x.named_processes) {
		err_set(err, "out of memory");
		goto out;
	}
	x.walk = event_walk_new(t, err);
	if (!x.walk)
		goto out;
	write_head(&x);
	if (event_walk_run(x.walk, &sink, err))
		goto out;
	json_array_end(&x.json);
	json_object_end(&x.json);
	buf_add_byte(&x.text, '\n');
	x.text.failed |= x.ids.failed || x.name.failed;
	export_flush(&x.text, to->fd, &x.error);
	rc = export_finish(x.error, err);
out:
	event_walk_free(x.walk);
	viewer_ids_release(&x.ids);
	free(x.named_processes);
	buf_release(&x.name);
	buf_release(&x.text);
	return rc;
}

const struct exporter exporter_chrome = {
	.name = "chrome",
	.suffixes = ".chrome.json",
	.write = export_chrome,
};
