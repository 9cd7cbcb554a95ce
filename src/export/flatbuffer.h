/*
 * Writing FlatBuffers front to back: a table is written with room for its fields, which are
 * filled in, and what it refers to follows.  No more than Arrow's messages need: no supported
 * distribution has a library for them in C.
 *
 * Positions are offsets in `out`, whose byte 0 must come to lie at a multiple of 8.
 */
#ifndef EXPORT_FLATBUFFER_H
#define EXPORT_FLATBUFFER_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Empties the buffer; the root table is written next. */
void flat_begin(struct buf *out);

#define FLAT_FIELDS_MAX 8

/*
 * A table whose fields take so many bytes each (0: absent; 4 for references); all are zero at
 * first.  Returns its position.
 */
size_t flat_table(struct buf *out, size_t count, const uint8_t *bytes);

/* Field n, which is there and takes so many bytes, becomes a number. */
void flat_set(struct buf *out, size_t table, size_t n, size_t bytes, int64_t value);

/* Field n, or item i of a vector of references, refers to what is written next. */
void flat_link(struct buf *out, size_t table, size_t n);
void flat_link_item(struct buf *out, size_t vector, size_t i);

void flat_string(struct buf *out, const char *text);
/* Of so many references. */
size_t flat_vector(struct buf *out, size_t count);
/* Of structs that hold 64-bit numbers, all zero: call it instead of flat_link(). */
size_t flat_link_structs(struct buf *out, size_t table, size_t n, size_t count, size_t item_bytes);

void flat_align(struct buf *out, size_t to);
void flat_put(struct buf *out, size_t at, uint64_t value, size_t bytes); /* little endian */

#endif
