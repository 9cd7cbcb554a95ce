#include "export/flatbuffer.h"

#include <string.h>

void flat_put(struct buf *out, size_t at, uint64_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes && !out->failed; i++)
		out->data[at + i] = (char)(value >> (8 * i) & 0xff);
}

static uint32_t get(const struct buf *out, size_t at, size_t bytes)
{
	uint32_t value = 0;

	for (size_t i = 0; i < bytes && !out->failed; i++)
		value |= (uint32_t)(uint8_t)out->data[at + i] << (8 * i);
	return value;
}

static size_t add_zeros(struct buf *out, size_t n)
{
	size_t at = out->len;
	void *room = buf_reserve(out, n);

	if (room) {
		memset(room, 0, n);
		out->len += n;
	}
	return at;
}

void flat_align(struct buf *out, size_t to)
{
	add_zeros(out, (to - out->len % to) % to);
}

void flat_begin(struct buf *out)
{
	buf_clear(out);
	add_zeros(out, 8); /* the reference to the root, and padding */
	flat_put(out, 0, 8, 4);
}

/* The layout of its fields (vtable) lies behind the table. */
size_t flat_table(struct buf *out, size_t count, const uint8_t *bytes)
{
	size_t offsets[FLAT_FIELDS_MAX] = { 0 }, size = 4;
	size_t layout, table;

	for (size_t i = 0; i < count; i++) {
		if (!bytes[i])
			continue;
		size += (bytes[i] - size % bytes[i]) % bytes[i];
		offsets[i] = size;
		size += bytes[i];
	}
	table = add_zeros(out, size);
	flat_align(out, 2);
	layout = add_zeros(out, 4 + 2 * count);
	flat_put(out, table, (uint64_t)table - layout, 4);
	flat_put(out, layout, 4 + 2 * count, 2);
	flat_put(out, layout + 2, size, 2);
	for (size_t i = 0; i < count; i++)
		flat_put(out, layout + 4 + 2 * i, offsets[i], 2);
	return table;
}

static size_t field_at(const struct buf *out, size_t table, size_t n)
{
	size_t layout = table - (size_t)(int64_t)(int32_t)get(out, table, 4);

	return table + get(out, layout + 4 + 2 * n, 2);
}

void flat_set(struct buf *out, size_t table, size_t n, size_t bytes, int64_t value)
{
	flat_put(out, field_at(out, table, n), (uint64_t)value, bytes);
}

/* A reference is a distance forward.  Tables have 64-bit fields: they begin at a multiple of 8. */
static void refer(struct buf *out, size_t from)
{
	flat_align(out, 8);
	flat_put(out, from, out->len - from, 4);
}

void flat_link(struct buf *out, size_t table, size_t n)
{
	refer(out, field_at(out, table, n));
}

void flat_link_item(struct buf *out, size_t vector, size_t i)
{
	refer(out, vector + 4 + 4 * i);
}

void flat_string(struct buf *out, const char *text)
{
	size_t n = strlen(text);

	flat_put(out, add_zeros(out, 4), n, 4);
	buf_add(out, text, n + 1);
}

size_t flat_vector(struct buf *out, size_t count)
{
	size_t at = add_zeros(out, 4 + 4 * count);

	flat_put(out, at, count, 4);
	return at;
}

/* The items are aligned, not the count before them. */
size_t flat_link_structs(struct buf *out, size_t table, size_t n, size_t count, size_t item_bytes)
{
	size_t from = field_at(out, table, n), at;

	flat_align(out, 8);
	add_zeros(out, 4);
	flat_put(out, from, out->len - from, 4);
	at = add_zeros(out, 4 + count * item_bytes);
	flat_put(out, at, count, 4);
	return at;
}
