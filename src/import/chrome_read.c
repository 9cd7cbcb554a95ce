/* One trace event after the other, from tokens to struct chrome_event. */
#include <stdlib.h>
#include <string.h>

#include "import/chrome.h"

#define TIME_MAX ((int64_t)1 << 61) /* 73 years; what a trace holds is twice that */
#define NUMBER_MAX 63               /* bytes of a counter's value */

/* The name of a string; 0: no memory. */
static uint32_t name_of(struct chrome *c, const struct json_value *v)
{
	char *out;

	if (!v->escaped)
		return build_name(c->build, v->text, v->bytes);
	buf_clear(&c->text);
	out = buf_reserve(&c->text, v->bytes + 1);
	return out ? build_name(c->build, out, json_unescape(out, v->text, v->bytes)) : 0;
}

static int no_memory(struct json_scan *s)
{
	err_set(s->err, "out of memory");
	s->failed = true;
	return -1;
}

/* A value that should be a string or a number.  Others are skipped: 0, and 1 where it is one. */
static int take_plain(struct json_scan *s, struct json_value *v)
{
	if (json_take(s, v))
		return -1;
	if (v->kind == JSON_OBJECT || v->kind == JSON_ARRAY)
		return json_leave(s, true);
	return v->kind == JSON_STRING || v->kind == JSON_NUMBER;
}

static int read_name(struct chrome *c, struct json_scan *s, uint32_t *name)
{
	struct json_value v;
	int rc = take_plain(s, &v);

	if (rc != 1)
		return rc;
	*name = name_of(c, &v);
	return *name ? 0 : no_memory(s);
}

/* Microseconds as nanoseconds.  Digits, a point and three more is what nearly all have. */
static bool micros(const struct json_value *v, int64_t *ns)
{
	const char *p = v->text, *end = p + v->bytes;
	uint64_t value = 0;
	unsigned scale = 1000;

	if (v->bytes && v->bytes <= 17) {
		for (; p < end && (unsigned)(*p - '0') < 10; p++)
			value = 10 * value + (unsigned)(*p - '0');
		if (p < end && *p == '.' && p != v->text && end - p > 1)
			for (p++; p < end && scale > 1 && (unsigned)(*p - '0') < 10; p++) {
				value = 10 * value + (unsigned)(*p - '0');
				scale /= 10;
			}
		if (p == end && p != v->text) {
			*ns = (int64_t)(value * scale);
			return true;
		}
	}
	return json_decimal(v->text, v->bytes, 3, ns);
}

static int read_time(struct json_scan *s, struct chrome_event *e, int64_t *ns, bool *given)
{
	struct json_value v;
	int rc = take_plain(s, &v);

	if (rc != 1)
		return rc;
	*given = true;
	if (!micros(&v, ns) || *ns >= TIME_MAX || *ns <= -TIME_MAX)
		e->bad_time = true;
	return 0;
}

static int read_key(struct chrome *c, struct json_scan *s, struct chrome_key *key)
{
	struct json_value v;
	int64_t number;
	int rc = take_plain(s, &v);

	if (rc != 1)
		return rc;
	key->given = true;
	key->text = false;
	if (json_decimal(v.text, v.bytes, 0, &number) && !memchr(v.text, '.', v.bytes)) {
		key->value = (uint64_t)number;
		return 0;
	}
	key->text = true;
	key->value = name_of(c, &v);
	return key->value ? 0 : no_memory(s);
}

/* 0 where it is none, or negative: unknown. */
static int read_number(struct json_scan *s, uint64_t *number, bool *given)
{
	struct json_value v;
	int64_t whole;
	int rc = take_plain(s, &v);

	if (rc != 1)
		return rc;
	if (given)
		*given = true;
	if (json_unsigned(v.text, v.bytes, number))
		return 0;
	*number = json_decimal(v.text, v.bytes, 0, &whole) && whole > 0 ? (uint64_t)whole : 0;
	if (given && !*number)
		*given = false;
	return 0;
}

/* [x, y, z], also as a string. */
static int read_shape(struct json_scan *s, uint64_t *shape)
{
	struct json_value v;
	int rc;

	if (json_take(s, &v))
		return -1;
	if (v.kind == JSON_OBJECT)
		return json_leave(s, true);
	if (v.kind == JSON_STRING) {
		const char *p = v.text, *end = p + v.bytes;

		for (size_t i = 0; i < 3 && p < end; i++) {
			const char *start;

			while (p < end && (*p < '0' || *p > '9'))
				p++;
			for (start = p; p < end && *p >= '0' && *p <= '9';)
				p++;
			json_unsigned(start, (size_t)(p - start), &shape[i]);
		}
		return 0;
	}
	if (v.kind != JSON_ARRAY)
		return 0;
	for (size_t i = 0; (rc = json_next_item(s, !i)) == 1; i++) {
		uint64_t ignored;

		if (read_number(s, i < 3 ? &shape[i] : &ignored, NULL) < 0)
			return -1;
	}
	return rc;
}

static double real_of(const struct json_value *v)
{
	char text[NUMBER_MAX + 1];
	size_t n = v->bytes < NUMBER_MAX ? v->bytes : NUMBER_MAX;

	memcpy(text, v->text, n);
	text[n] = '\0';
	return strtod(text, NULL);
}

/* A member of the args of a counter, or of an event that may yet turn out to be one. */
static int read_counter_value(struct chrome *c, struct json_scan *s, uint32_t name,
			      struct chrome_args *a)
{
	struct json_value v;
	int rc = take_plain(s, &v);

	(void)c;
	if (rc != 1 || a->value_count == CHROME_VALUES_MAX || v.kind != JSON_NUMBER)
		return rc < 0 ? -1 : 0;
	a->values[a->value_count].name = name;
	a->values[a->value_count++].value = real_of(&v);
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
		return read_name(c, s, &a->name);
	case ARG_KEY_CORRELATION:
		return read_number(s, &a->correlation, &a->has_correlation);
	case ARG_KEY_STREAM:
		return read_number(s, &a->stream, &a->has_stream);
	case ARG_KEY_DEVICE:
		return read_number(s, &a->device, &a->has_device);
	case ARG_KEY_CONTEXT:
		return read_number(s, &a->context, &ignored);
	case ARG_KEY_BYTES:
		return read_number(s, &a->bytes, &ignored);
	case ARG_KEY_GRID:
		return read_shape(s, a->grid);
	case ARG_KEY_BLOCK:
		return read_shape(s, a->block);
	case ARG_KEY_REGISTERS:
		return read_number(s, &a->registers, &ignored);
	case ARG_KEY_SHARED:
		return read_number(s, &a->shared_bytes, &ignored);
	case ARG_KEY_GRAPH:
		return read_number(s, &a->graph, &ignored);
	case ARG_KEY_GRAPH_NODE:
		return read_number(s, &a->graph_node, &ignored);
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
			return no_memory(s);
		if (what == ARG_KEY_NAME ? read_name(c, s, &a->name)
					 : read_counter_value(c, s, name, a))
			return -1;
	}
	return rc;
}

static int read_phase(struct json_scan *s, struct chrome_event *e)
{
	struct json_value v;
	int rc = take_plain(s, &v);

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
		return read_name(c, s, &e->name);
	if (IS("cat"))
		return read_name(c, s, &e->category);
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
	return chrome_event_add(c, &e) ? no_memory(s) : 0;
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
