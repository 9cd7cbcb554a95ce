/*
 * A growable byte buffer.  A failed allocation is remembered in `failed` and
 * turns every later addition into a no-op, so callers check once at the end.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	char *data; /* not NUL-terminated unless buf_string() was called */
	size_t len;
	size_t cap;
	bool failed;
};

void buf_init(struct buf *b);
void buf_release(struct buf *b);
void buf_clear(struct buf *b); /* keeps the memory */

/* Room for n more bytes; returns where to write, or NULL.  Does not move len. */
void *buf_reserve(struct buf *b, size_t n);

void buf_add(struct buf *b, const void *data, size_t n);
void buf_add_byte(struct buf *b, uint8_t byte);
void buf_add_str(struct buf *b, const char *s);
void buf_add_varint(struct buf *b, uint64_t value);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* NUL-terminates without counting the NUL; "" when empty or failed.  Borrowed. */
const char *buf_string(struct buf *b);

#endif
