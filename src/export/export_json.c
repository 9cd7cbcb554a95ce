/*
 * JSON export: {"inferscope": {...}, "events": [...]}, one event a line, as
 * docs/schema/events.schema.json says.  Events come thread by thread, those of a
 * thread in the order in which they end; then functions that only samples know
 * (export_json_samples.c), what threads did, by samples (export_json_series.c), what
 * the recorder read from outside (export_json_series.c) and the GPU's (export_json_gpu.c).
 */
#include "export/export_json.h"

#include <stdlib.h>
#include <time.h>

#include "export/event_walk.h"
#include "export/export.h"
#include "format/trace.h"
#include "tables/table_source.h"
#include "timeline/timeline.h"

#define SCHEMA_VERSION 1

static void key_end_us(struct json *j, int64_t ns)
{
	json_key(j, "end_us");
	if (ns == TRACE_UNKNOWN_NS)
		json_null(j);
	else
		json_scaled(j, ns, 3);
}

void export_event_begin(struct exported *x, const char *type, const char *name)
{
	if (x->text.len >= EXPORT_WRITE_BYTES)
		export_flush(&x->text, x->fd, &x->error);
	json_object_begin(&x->json);
	key_string(&x->json, "event_type", type);
	if (name)
		key_string(&x->json, "name", name);
}

void export_event_thread(struct exported *x, size_t thread)
{
	const struct trace_thread *t = trace_thread(x->trace, thread);

	key_uint(&x->json, "pid", x->pid_of[thread]);
	key_uint(&x->json, "tid", t->tid);
	key_uint(&x->json, "thread", t->id);
}

void export_event_end(struct exported *x)
{
	json_object_end(&x->json);
}

static void span_times(struct json *j, const struct span *s)
{
	key_us(j, "start_us", s->start_ns);
	key_us(j, "end_us", s->end_ns);
}

static void span_flags(struct json *j, uint32_t flags)
{
	for (size_t i = 0; span_keys[i].key; i++)
		if (flags & span_keys[i].flag)
			key_true(j, span_keys[i].key);
}

static void visit_function(void *ctx, const struct span *s)
{
	struct exported *x = ctx;
	const struct place *f = timeline_function(x->timeline, s->function);
	struct json *j = &x->json;

	export_event_begin(x, "cpu_function", f->name);
	key_string(j, "file", f->file);
	key_uint(j, "line", f->line);
	span_times(j, s);
	key_us(j, "self_us", s->self_ns);
	key_uint(j, "depth", s->depth);
	export_event_thread(x, s->thread);
	if (!(s->flags & SPAN_CALL))
		key_true(j, "resumed");
	span_flags(j, s->flags);
	export_event_end(x);
}

static void visit_gc(void *ctx, const struct span *s, uint64_t collected)
{
	struct exported *x = ctx;

	export_event_begin(x, "gc", "garbage collection");
	key_uint(&x->json, "generation", s->id);
	key_uint(&x->json, "collected", collected);
	span_times(&x->json, s);
	key_uint(&x->json, "depth", s->depth);
	export_event_thread(x, s->thread);
	span_flags(&x->json, s->flags);
	export_event_end(x);
}

static void visit_layer(void *ctx, const struct layer_span *s)
{
	struct exported *x = ctx;
	const struct trace_layer *l = trace_layer(x->trace, s->id);
	const struct trace_layer *root = l && l->root ? trace_layer(x->trace, l->root) : l;
	const char *class_name = l ? l->class_name : "(unknown)";
	struct json *j = &x->json;

	export_event_begin(x, "layer", l && *l->name ? l->name : class_name);
	key_string(j, "class", class_name);
	key_string(j, "root", root ? root->class_name : "(unknown)");
	key_uint(j, "layer_id", s->id);
	key_us(j, "start_us", s->start_ns);
	key_us(j, "end_us", s->end_ns);
	key_us(j, "self_us", s->self_ns);
	key_uint(j, "depth", s->depth);
	export_event_thread(x, s->thread);
	span_flags(j, s->flags);
	export_event_end(x);
}

static void visit_gap(void *ctx, const struct gap *g)
{
	struct exported *x = ctx;

	export_event_begin(x, "lost", NULL);
	key_us(&x->json, "start_us", g->start_ns);
	key_us(&x->json, "end_us", g->end_ns);
	key_uint(&x->json, "events", g->lost);
	export_event_thread(x, g->thread);
	export_event_end(x);
}

static void visit_pause(void *ctx, const struct pause *p)
{
	struct exported *x = ctx;

	export_event_begin(x, "calls_paused", NULL);
	key_us(&x->json, "start_us", p->start_ns);
	key_us(&x->json, "end_us", p->end_ns);
	export_event_thread(x, p->thread);
	export_event_end(x);
}

static void visit_throttled(void *ctx, const struct throttled *l)
{
	struct exported *x = ctx;
	const struct place *f =
		l->function == UINT32_MAX ? NULL : timeline_function(x->timeline, l->function);

	export_event_begin(x, f ? "calls_left_out" : "calls_traced_again", f ? f->name : NULL);
	if (f) {
		key_string(&x->json, "file", f->file);
		key_uint(&x->json, "line", f->line);
	}
	key_us(&x->json, "start_us", l->time_ns);
	export_event_thread(x, l->thread);
	export_event_end(x);
}

static void event_args(struct exported *x, const uint8_t *args, size_t bytes)
{
	struct trace_args all;
	struct trace_arg a;
	bool cut = false;

	trace_args_init(&all, args, bytes);
	json_key(&x->json, "args");
	json_object_begin(&x->json);
	while (trace_args_next(&all, &a)) {
		if (a.type == ARG_CUT) {
			cut = true;
			continue;
		}
		json_key_text(&x->json, a.key, a.key_bytes);
		args_add_value(&x->json, &a);
	}
	json_object_end(&x->json);
	if (cut)
		key_true(&x->json, "args_cut");
}

/* NVTX attributes; nothing for our own annotations. */
static void event_nvtx(struct exported *x, const struct trace_nvtx *n)
{
	static const char *const kinds[] = {
		[NVTX_PUSHED] = "push",
		[NVTX_STARTED] = "start",
		[NVTX_MARKED] = "mark",
	};
	struct json *j = &x->json;

	if (!n)
		return;
	json_key(j, "nvtx");
	json_object_begin(j);
	key_string(j, "kind",
		   n->kind < sizeof(kinds) / sizeof(kinds[0]) && kinds[n->kind] ? kinds[n->kind]
										: "unknown");
	key_string(j, "domain", n->domain);
	if (n->category)
		key_uint(j, "category", n->category);
	if (*n->category_name)
		key_string(j, "category_name", n->category_name);
	if (n->colour)
		key_uint(j, "argb", n->colour);
	json_object_end(j);
}

static void visit_annotation(void *ctx, const struct annotation *a)
{
	struct exported *x = ctx;
	struct json *j = &x->json;
	const char *name = trace_string(x->trace, a->name);
	const char *type = a->kind == RECORD_SCOPE_BEGIN ? "scope_enter"
			   : a->kind == RECORD_SCOPE_END ? "scope_exit"
			   : a->kind == RECORD_MARK      ? "instant"
							 : "counter";

	export_event_begin(x, type, name ? name : "(unknown)");
	key_us(j, "start_us", a->time_ns);
	export_event_thread(x, a->thread);
	if (a->kind == RECORD_COUNTER) {
		json_key(j, "value");
		json_double(j, a->value);
	}
	if (a->kind == RECORD_SCOPE_BEGIN || a->kind == RECORD_SCOPE_END)
		key_uint(j, "instance", a->instance);
	if (a->task)
		key_uint(j, "task", a->task);
	if (a->kind == RECORD_SCOPE_BEGIN || a->kind == RECORD_MARK) {
		event_nvtx(x, trace_nvtx(x->trace, a->name));
		event_args(x, a->args, a->args_bytes);
	}
	if (a->kind == RECORD_SCOPE_END && a->args_bytes)
		event_args(x, a->args, a->args_bytes);
	export_event_end(x);
}

/* 2026-11-15T05:09:58.123456789Z */
static void key_started(struct exported *x)
{
	int64_t ns = trace_start(x->trace)->realtime_ns;
	time_t seconds = (time_t)(ns / 1000000000);
	char text[64] = "";
	struct tm tm;
	struct buf b;

	json_key(&x->json, "started");
	if (ns < 0 || !gmtime_r(&seconds, &tm) ||
	    !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm)) {
		json_null(&x->json);
		return;
	}
	buf_init(&b);
	buf_printf(&b, "%s.%09dZ", text, (int)(ns % 1000000000));
	json_string(&x->json, buf_string(&b));
	buf_release(&b);
}

static void write_processes(struct exported *x, const char *key, size_t count,
			    const struct trace_process *(*at)(const struct trace *, size_t))
{
	struct json *j = &x->json;

	json_key(j, key);
	json_array_begin(j);
	for (size_t i = 0; i < count; i++) {
		const struct trace_process *p = at(x->trace, i);

		json_object_begin(j);
		key_uint(j, "id", p->id);
		key_uint(j, "pid", p->pid);
		key_uint(j, "parent_pid", p->parent_pid);
		key_string(j, "name", p->name);
		key_us(j, "start_us", p->start_ns);
		key_end_us(j, p->end_ns);
		json_object_end(j);
	}
	json_array_end(j);
}

static void write_threads(struct exported *x)
{
	struct json *j = &x->json;

	json_key(j, "threads");
	json_array_begin(j);
	for (size_t i = 0; i < trace_thread_count(x->trace); i++) {
		const struct trace_thread *t = trace_thread(x->trace, i);

		json_object_begin(j);
		key_uint(j, "id", t->id);
		key_uint(j, "process", t->process);
		key_uint(j, "pid", x->pid_of[i]);
		key_uint(j, "tid", t->tid);
		key_string(j, "name", t->name);
		key_us(j, "start_us", t->start_ns);
		key_end_us(j, t->end_ns);
		key_uint(j, "produced", t->produced);
		key_uint(j, "lost", timeline_thread(x->examined, i)->lost);
		json_object_end(j);
	}
	json_array_end(j);
}

static void write_info(struct exported *x)
{
	struct json *j = &x->json;

	json_key(j, "info");
	json_array_begin(j);
	for (size_t i = 0; i < trace_info_count(x->trace); i++) {
		json_object_begin(j);
		key_string(j, "key", trace_info_key(x->trace, i));
		key_string(j, "value", trace_info_value(x->trace, i));
		json_object_end(j);
	}
	json_array_end(j);
	json_key(j, "notes");
	json_array_begin(j);
	for (size_t i = 0; i < trace_note_count(x->trace); i++)
		json_string(j, trace_note(x->trace, i));
	json_array_end(j);
}

static const char *damage_of(const struct exported *x)
{
	if (trace_damage(x->trace))
		return trace_damage(x->trace);
	if (timeline_damage(x->examined))
		return timeline_damage(x->examined);
	return *x->damage.text ? x->damage.text : NULL;
}

static void write_head(struct exported *x)
{
	const struct trace_end *end = trace_end(x->trace);
	struct json *j = &x->json;

	json_key(j, "inferscope");
	json_object_begin(j);
	key_string(j, "version", INFERSCOPE_VERSION);
	key_uint(j, "schema", SCHEMA_VERSION);
	key_started(x);
	json_key(j, "wall_us");
	if (end)
		json_scaled(j, end->wall_ns, 3);
	else
		json_null(j);
	json_key(j, "exit_status");
	if (end && end->exit_status >= 0)
		json_int(j, end->exit_status);
	else
		json_null(j);
	key_string(j, "damage", damage_of(x));
	write_info(x);
	write_processes(x, "processes", trace_process_count(x->trace), trace_process);
	write_processes(x, "watched", trace_observed_count(x->trace), trace_observed);
	write_threads(x);
	json_object_end(j);
}

static int pids_find(struct exported *x)
{
	size_t count = trace_thread_count(x->trace);

	x->pid_of = calloc(count ? count : 1, sizeof(*x->pid_of));
	if (!x->pid_of)
		return -1;
	for (size_t i = 0; i < count; i++) {
		size_t at = process_position(x->trace, trace_thread(x->trace, i)->process);

		/* The reader drops threads of processes that it does not know. */
		x->pid_of[i] = trace_process(x->trace, at)->pid;
	}
	return 0;
}

/* The head says what cannot be read, so all events are read once before it is written. */
static int examine(struct exported *x, struct err *err)
{
	const struct timeline_visitor visitor = traced_calls_visitor(&x->traced);

	export_json_series_examine(x);
	if (err_is_memory(&x->damage))
		return err_set(err, "out of memory");
	return timeline_new(&x->examined, x->trace, err) ||
			       timeline_walk(x->examined, &visitor, err)
		       ? -1
		       : 0;
}

static int export_json(const struct trace *t, const struct export_target *to, struct err *err)
{
	struct exported x = { .trace = t, .fd = to->fd };
	const struct timeline_visitor visitor = {
		.ctx = &x,
		.function = visit_function,
		.gc = visit_gc,
		.gap = visit_gap,
		.pause = visit_pause,
		.throttled = visit_throttled,
		.annotation = visit_annotation,
		.layer = visit_layer,
	};
	int rc = -1;

	buf_init(&x.text);
	json_init(&x.json, &x.text, JSON_LINES); /* line tools can read it too */
	if (pids_find(&x)) {
		err_set(err, "out of memory");
		goto out;
	}
	if (examine(&x, err) || timeline_new(&x.timeline, t, err))
		goto out;
	json_object_begin(&x.json);
	write_head(&x);
	json_key(&x.json, "events");
	json_array_begin(&x.json);
	if (timeline_walk(x.timeline, &visitor, err) || export_json_samples(&x, err) ||
	    export_json_states(&x, err) || export_json_series(&x, err) || export_json_gpu(&x, err))
		goto out;
	json_array_end(&x.json);
	json_object_end(&x.json);
	buf_add_byte(&x.text, '\n');
	export_flush(&x.text, to->fd, &x.error);
	rc = export_finish(x.error, err);
out:
	timeline_free(x.examined);
	traced_calls_release(&x.traced);
	timeline_free(x.timeline);
	free(x.pid_of);
	buf_release(&x.text);
	return rc;
}

const struct exporter exporter_json = {
	.name = "json",
	.suffixes = "", /* which JSON? */
	.write = export_json,
};
