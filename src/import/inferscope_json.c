#include "import/inferscope_json.h"

#include <stdlib.h>
#include <string.h>

#include "import/json_fields.h"

#define TIME_MAX ((int64_t)1 << 61)

enum field_type { FIELD_NAME, FIELD_NUMBER, FIELD_SHAPE, FIELD_TRUE };

#define FIELD(key, type, member)                                                      \
	{                                                                             \
		key, sizeof(key) - 1, type, offsetof(struct inferscope_event, member) \
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

static int take_field(struct inferscope_json *x, struct json_scan *s, struct inferscope_event *e,
		      size_t i)
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

static int take_member(struct inferscope_json *x, struct json_scan *s, struct inferscope_event *e,
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

static int read_event(struct inferscope_json *x, struct json_scan *s)
{
	struct inferscope_event e = { 0 };
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
	return inferscope_event_add(x, &e) ? json_no_memory(s) : 0;
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

int inferscope_json_read_events(struct inferscope_json *x, struct json_scan *s)
{
	return read_list(x, s, read_event);
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
	process = rc < 0 ? 0 : inferscope_process(x, pid);
	if (rc < 0)
		return -1;
	if (thread && process)
		process = build_thread(x->build, process, id,
				       tid < UINT32_MAX ? (uint32_t)tid : UINT32_MAX);
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
