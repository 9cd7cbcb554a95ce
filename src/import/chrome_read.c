/* One trace event after the other, from tokens to struct chrome_event. */
#include <stdlib.h>
#include <string.h>

#include "import/chrome.h"
#include "import/json_fields.h"

#define TIME_MAX ((int64_t)1 << 61) /* 73 years; what a trace holds is twice that */

static int read_time(struct json_scan *s, struct chrome_event *e, int64_t *ns, bool *given)
{
	struct json_value v;
	int rc = json_take_plain(s, &v);

	if (rc != 1)
		return rc;
	*given = true;
	if (!json_micros(&v, ns) || *ns >= TIME_MAX || *ns <= -TIME_MAX)
		e->bad_time = true;
	return 0;
}

static int read_key(struct chrome *c, struct json_scan *s, struct chrome_key *key)
{
	struct json_value v;
	int64_t number;
	int rc = json_take_plain(s, &v);

	if (rc != 1)
		return rc;
	key->given = true;
	key->text = false;
	if (json_decimal(v.text, v.bytes, 0, &number) && !memchr(v.text, '.', v.bytes)) {
		key->value = (uint64_t)number;
		return 0;
	}
	key->text = true;
	key->value = json_name(c->build, &v);
	return key->value ? 0 : json_no_memory(s);
}

/* A member of the args of a counter, or of an event that may yet turn out to be one. */
static int read_counter_value(struct json_scan *s, uint32_t name, struct chrome_args *a)
{
	struct json_value v;
	int rc = json_take_plain(s, &v);

	if (rc != 1 || a->value_count == CHROME_VALUES_MAX || v.kind != JSON_NUMBER)
		return rc < 0 ? -1 : 0;
	a->values[a->value_count].name = name;
	a->values[a->value_count++].value = json_real(&v);
	return 0;
}

enum arg_key {
	ARG_KEY_OTHER,
	ARG_KEY_NAME,
	ARG_KEY_CORRELATION,
	ARG_KEY_STREAM,
	ARG_KEY_DEVICE,
	ARG_KEY_CONTEXT,
	ARG_KEY_BYTES,
	ARG_KEY_GRID,
	ARG_KEY_BLOCK,
	ARG_KEY_REGISTERS,
	ARG_KEY_SHARED,
	ARG_KEY_GRAPH,
	ARG_KEY_GRAPH_NODE,
	ARG_KEY_CLASS,
	ARG_KEY_MODEL,
	ARG_KEY_FUNCTION,
	ARG_KEY_FILE,
	ARG_KEY_LINE,
};

static const struct {
	const char *key;
	size_t bytes;
	enum arg_key what;
} arg_keys[] = {
#define ARG(text, what)                      \
	{                                    \
		text, sizeof(text) - 1, what \
	}
	ARG("name", ARG_KEY_NAME),
	ARG("file", ARG_KEY_FILE),
	ARG("line", ARG_KEY_LINE),
	ARG("class", ARG_KEY_CLASS),
	ARG("model", ARG_KEY_MODEL),
	ARG("function", ARG_KEY_FUNCTION),
	ARG("grid", ARG_KEY_GRID),
	ARG("size", ARG_KEY_BYTES),
	ARG("block", ARG_KEY_BLOCK),
	ARG("bytes", ARG_KEY_BYTES),
	ARG("stream", ARG_KEY_STREAM),
	ARG("device", ARG_KEY_DEVICE),
	ARG("context", ARG_KEY_CONTEXT),
	ARG("graph id", ARG_KEY_GRAPH),
	ARG("correlation", ARG_KEY_CORRELATION),
	ARG("graph node id", ARG_KEY_GRAPH_NODE),
	ARG("shared memory", ARG_KEY_SHARED),
	ARG("registers per thread", ARG_KEY_REGISTERS),
#undef ARG
};

/* The lengths of the keys above, a bit each: most others are passed over at once. */
static enum arg_key arg_key_of(const char *key, size_t bytes)
{
	const uint32_t lengths =
		1u << 4 | 1u << 5 | 1u << 6 | 1u << 7 | 1u << 8 | 1u << 11 | 1u << 13 | 1u << 20;

	if (bytes > 20 || !(lengths >> bytes & 1))
		return ARG_KEY_OTHER;
	for (size_t i = 0; i < sizeof(arg_keys) / sizeof(*arg_keys); i++)
		if (arg_keys[i].bytes == bytes && !memcmp(arg_keys[i].key, key, bytes))
			return arg_keys[i].what;
	return ARG_KEY_OTHER;
}

static int read_arg(struct chrome *c, struct json_scan *s, enum arg_key what, struct chrome_args *a)
{
	bool ignored;

	switch (what) {
	case ARG_KEY_NAME:
		return json_take_name(c->build, s, &a->name);
	case ARG_KEY_CORRELATION:
		return json_take_number(s, &a->correlation, &a->has_correlation);
	case ARG_KEY_STREAM:
		return json_take_number(s, &a->stream, &a->has_stream);
	case ARG_KEY_DEVICE:
		return json_take_number(s, &a->device, &a->has_device);
	case ARG_KEY_CONTEXT:
		return json_take_number(s, &a->context, &ignored);
	case ARG_KEY_BYTES:
		return json_take_number(s, &a->bytes, &ignored);
	case ARG_KEY_GRID:
		return json_take_shape(s, a->grid);
	case ARG_KEY_BLOCK:
		return json_take_shape(s, a->block);
	case ARG_KEY_REGISTERS:
		return json_take_number(s, &a->registers, &ignored);
	case ARG_KEY_SHARED:
		return json_take_number(s, &a->shared_bytes, &ignored);
	case ARG_KEY_GRAPH:
		return json_take_number(s, &a->graph, &ignored);
	case ARG_KEY_GRAPH_NODE:
		return json_take_number(s, &a->graph_node, &ignored);
	case ARG_KEY_CLASS:
		return json_take_name(c->build, s, &a->class_name);
	case ARG_KEY_MODEL:
		return json_take_name(c->build, s, &a->model);
	case ARG_KEY_FUNCTION:
		return json_take_name(c->build, s, &a->function);
	case ARG_KEY_FILE:
		return json_take_name(c->build, s, &a->file);
	case ARG_KEY_LINE:
		return json_take_number(s, &a->line, NULL);
	case ARG_KEY_OTHER:
		break;
	}
	return json_skip(s);
}

/* counter: its numbers are wanted as well. */
static int read_args(struct chrome *c, struct json_scan *s, struct chrome_args *a, bool counter)
{
	struct json_value v;
	const char *key;
	size_t bytes;
	int rc;

	if (json_take(s, &v))
		return -1;
	if (v.kind == JSON_ARRAY)
		return json_leave(s, true);
	if (v.kind != JSON_OBJECT)
		return 0;
	for (bool first = true; (rc = json_next_key(s, &key, &bytes, first)) == 1; first = false) {
		enum arg_key what = arg_key_of(key, bytes);
		uint32_t name;

		if (!counter) {
			if (read_arg(c, s, what, a))
				return -1;
			continue;
		}
		name = build_name(c->build, key, bytes);
		if (!name)
			return json_no_memory(s);
		if (what == ARG_KEY_NAME ? json_take_name(c->build, s, &a->name)
					 : read_counter_value(s, name, a))
			return -1;
	}
	return rc;
}

static int read_phase(struct json_scan *s, struct chrome_event *e)
{
	struct json_value v;
	int rc = json_take_plain(s, &v);

	if (rc == 1 && v.bytes == 1)
		e->phase = v.text[0];
	return rc < 0 ? -1 : 0;
}

#define IS(text) (bytes == sizeof(text) - 1 && !memcmp(key, text, sizeof(text) - 1))

static int read_member(struct chrome *c, struct json_scan *s, struct chrome_event *e,
		       const char *key, size_t bytes)
{
	if (IS("ph"))
		return read_phase(s, e);
	if (IS("ts"))
		return read_time(s, e, &e->ts_ns, &e->has_ts);
	if (IS("dur"))
		return read_time(s, e, &e->dur_ns, &e->has_dur);
	if (IS("name"))
		return json_take_name(c->build, s, &e->name);
	if (IS("cat"))
		return json_take_name(c->build, s, &e->category);
	if (IS("pid"))
		return read_key(c, s, &e->pid);
	if (IS("tid"))
		return read_key(c, s, &e->tid);
	if (IS("args"))
		return read_args(c, s, &e->args, e->phase == 'C' || !e->phase);
	if (IS("id"))
		return read_key(c, s, &e->id);
	return json_skip(s);
}

static int read_event(struct chrome *c, struct json_scan *s)
{
	struct chrome_event e;
	struct json_value v;
	const char *key;
	size_t bytes;
	int rc;

	if (json_take(s, &v))
		return -1;
	if (v.kind == JSON_ARRAY)
		return json_leave(s, true);
	c->counts.events++;
	if (v.kind != JSON_OBJECT) {
		c->counts.no_phase++;
		return 0;
	}
	memset(&e, 0, offsetof(struct chrome_event, args.values));
	for (bool first = true; (rc = json_next_key(s, &key, &bytes, first)) == 1; first = false)
		if (read_member(c, s, &e, key, bytes) < 0)
			return -1;
	if (rc < 0)
		return -1;
	return chrome_event_add(c, &e) ? json_no_memory(s) : 0;
}

int chrome_read_events(struct chrome *c, struct json_scan *s, bool *between)
{
	int rc;

	for (bool first = true;; first = false) {
		*between = true;
		rc = json_next_item(s, first);
		if (rc != 1)
			return rc;
		*between = false;
		if (read_event(c, s))
			return -1;
	}
}
