/* Reading taps; see tap_file.h. */
#include "tap_file.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAP_FORMAT 2u

/* What is left of the file, or of one entry; once it is short, all further takes are. */
struct cursor {
	const uint8_t *at;
	size_t left;
	bool is_short;
};

static const uint8_t *take(struct cursor *c, uint64_t bytes)
{
	const uint8_t *at = c->at;

	if (c->is_short || bytes > c->left) {
		c->is_short = true;
		return NULL;
	}
	c->at += bytes;
	c->left -= (size_t)bytes;
	return at;
}

static uint32_t take_u32(struct cursor *c)
{
	const uint8_t *at = take(c, sizeof(uint32_t));
	uint32_t value = 0;

	if (at)
		memcpy(&value, at, sizeof(value));
	return value;
}

static uint64_t take_u64(struct cursor *c)
{
	const uint8_t *at = take(c, sizeof(uint64_t));
	uint64_t value = 0;

	if (at)
		memcpy(&value, at, sizeof(value));
	return value;
}

static void *allocate(size_t count, size_t bytes)
{
	void *memory = calloc(count + 1, bytes);

	if (!memory)
		abort();
	return memory;
}

static void read_buffer(struct cursor *c, struct tap_buffer *b)
{
	b->bytes = take_u64(c);
	b->data = take(c, b->bytes);
	b->records = take_u32(c);
	if (c->is_short || b->records > c->left / sizeof(uint32_t)) {
		c->is_short = true;
		return;
	}
	b->offsets = allocate(b->records, sizeof(*b->offsets));
	for (uint32_t i = 0; i < b->records; i++) {
		b->offsets[i] = take_u32(c);
		if (b->offsets[i] + sizeof(uint32_t) > b->bytes ||
		    (i && b->offsets[i] <= b->offsets[i - 1]))
			c->is_short = true;
	}
	b->names = take_u32(c);
	if (c->is_short || b->names > c->left / 12) {
		c->is_short = true;
		return;
	}
	b->name = allocate(b->names, sizeof(*b->name));
	for (uint32_t i = 0; i < b->names && !c->is_short; i++) {
		const uint8_t *text;
		uint32_t length;

		b->name[i].pointer = take_u64(c);
		length = take_u32(c);
		text = take(c, length);
		b->name[i].text = text ? strndup((const char *)text, length) : NULL;
	}
}

static void read_call(struct cursor *c, struct tap_call *call)
{
	call->thread = take_u32(c);
	call->domain = take_u32(c);
	call->id = take_u32(c);
	call->site = take_u32(c);
	call->correlation = take_u32(c);
	call->context = take_u64(c);
	call->arguments[0] = take_u64(c);
	call->arguments[1] = take_u64(c);
	call->readable = take_u32(c);
}

static void read_stream(struct cursor *c, struct tap_stream *s)
{
	s->context = take_u64(c);
	s->stream = take_u64(c);
	s->per_thread = take_u32(c);
	s->result = take_u32(c);
	s->id = take_u32(c);
}

static bool read_entry(struct cursor *file, struct tap_entry *e)
{
	struct cursor body;

	e->type = take_u32(file);
	body = (struct cursor){ .left = take_u32(file) };
	e->time_ns = take_u64(file);
	body.at = take(file, body.left);
	body.is_short = file->is_short;
	switch (e->type) {
	case TAP_BUFFER:
		read_buffer(&body, &e->buffer);
		break;
	case TAP_CALL:
		read_call(&body, &e->call);
		break;
	case TAP_STREAM:
		read_stream(&body, &e->stream);
		break;
	case TAP_DROPPED:
		e->dropped = take_u64(&body);
		break;
	default:
		return false;
	}
	return !body.is_short && !body.left;
}

static bool read_all(struct cursor *file, struct tap *t)
{
	const uint8_t *magic = take(file, 8);
	size_t room = 0;

	t->version = take_u32(file);
	if (!magic || memcmp(magic, "CUPTITAP", 8) != 0 || take_u32(file) != TAP_FORMAT)
		return false;
	while (file->left) {
		if (t->count == room) {
			room = 2 * room + 64;
			t->entries = realloc(t->entries, room * sizeof(*t->entries));
			if (!t->entries)
				abort();
		}
		memset(&t->entries[t->count], 0, sizeof(*t->entries));
		if (!read_entry(file, &t->entries[t->count]))
			return false;
		t->count++;
	}
	return t->count > 0;
}

static uint8_t *read_file(const char *path, size_t *bytes)
{
	FILE *file = path ? fopen(path, "rb") : NULL;
	uint8_t *data = NULL;
	size_t room = 0, got;

	*bytes = 0;
	if (!file)
		return NULL;
	do {
		room = 2 * room + 65536;
		data = realloc(data, room);
		if (!data)
			abort();
		got = fread(data + *bytes, 1, room - *bytes, file);
		*bytes += got;
	} while (*bytes == room);
	fclose(file);
	return data;
}

const struct tap *tap_read(const char *path)
{
	struct tap *t = allocate(1, sizeof(*t));
	struct cursor file = { 0 };

	file.at = read_file(path, &file.left);
	if (file.at && read_all(&file, t))
		return t;
	fprintf(stderr, "tap: %s cannot be read\n", path ? path : "(no CUPTI_REPLAY_FILE)");
	return NULL;
}
