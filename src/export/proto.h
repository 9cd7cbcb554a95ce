/*
 * Writing Protocol Buffers: a message is a buffer that fields are added to; one inside another
 * is written first and added as bytes.  Header only: each is a few bytes.
 */
#ifndef EXPORT_PROTO_H
#define EXPORT_PROTO_H

#include <string.h>

#include "base/buf.h"

enum proto_wire { PROTO_VARINT = 0, PROTO_FIXED64 = 1, PROTO_BYTES = 2 };

static inline void proto_tag(struct buf *out, uint32_t field, enum proto_wire wire)
{
	buf_add_varint(out, (uint64_t)field << 3 | wire);
}

static inline void proto_uint(struct buf *out, uint32_t field, uint64_t value)
{
	proto_tag(out, field, PROTO_VARINT);
	buf_add_varint(out, value);
}

/* int32, int64: negative ones take ten bytes. */
static inline void proto_int(struct buf *out, uint32_t field, int64_t value)
{
	proto_uint(out, field, (uint64_t)value);
}

static inline void proto_fixed64(struct buf *out, uint32_t field, uint64_t value)
{
	proto_tag(out, field, PROTO_FIXED64);
	for (unsigned i = 0; i < 8; i++)
		buf_add_byte(out, (uint8_t)(value >> 8 * i));
}

static inline void proto_double(struct buf *out, uint32_t field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	proto_fixed64(out, field, bits);
}

static inline void proto_bytes(struct buf *out, uint32_t field, const void *data, size_t bytes)
{
	proto_tag(out, field, PROTO_BYTES);
	buf_add_varint(out, bytes);
	buf_add(out, data, bytes);
}

static inline void proto_string(struct buf *out, uint32_t field, const char *text)
{
	proto_bytes(out, field, text, strlen(text));
}

static inline void proto_message(struct buf *out, uint32_t field, const struct buf *message)
{
	proto_bytes(out, field, message->data, message->len);
	out->failed |= message->failed;
}

#endif
