#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/varint.h"

void buf_init(struct buf *b)
{
	memset(b, 0, sizeof(*b));
}

void buf_release(struct buf *b)
{
	free(b->data);
	buf_init(b);
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->failed = false;
}

void *buf_reserve(struct buf *b, size_t n)
{
	size_t cap = b->cap ? b->cap : 256;
	char *data;

	if (b->failed)
		return NULL;
	if (b->data && b->cap - b->len >= n)
		return b->data + b->len;
	if (n > SIZE_MAX / 4 || b->len > SIZE_MAX / 4) {
		b->failed = true;
		return NULL;
	}
	while (cap - b->len < n)
		cap *= 2;
	data = realloc(b->data, cap);
	if (!data) {
		b->failed = true;
		return NULL;
	}
	b->data = data;
	b->cap = cap;
	return data + b->len;
}

void buf_add(struct buf *b, const void *data, size_t n)
{
	void *to;

	if (!n)
		return;
	to = buf_reserve(b, n);
	if (!to)
		return;
	memcpy(to, data, n);
	b->len += n;
}

void buf_add_byte(struct buf *b, uint8_t byte)
{
	buf_add(b, &byte, 1);
}

void buf_add_str(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_add_varint(struct buf *b, uint64_t value)
{
	uint8_t *to = buf_reserve(b, VARINT_MAX);

	if (to)
		b->len += varint_put(to, value);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	char *to;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0) {
		b->failed = true;
		return;
	}
	to = buf_reserve(b, (size_t)n + 1);
	if (!to)
		return;
	va_start(ap, fmt);
	vsnprintf(to, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
}

const char *buf_string(struct buf *b)
{
	char *end = buf_reserve(b, 1);

	if (!end)
		return "";
	*end = '\0';
	return b->data;
}
