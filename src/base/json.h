/*
 * Writing JSON (RFC 8259) into a buffer.  The writer looks only at its own
 * state, never at what it wrote, so a caller that streams may empty the buffer
 * between any two calls.  Out of memory shows in the buffer's `failed`.
 *
 *	json_object_begin(&j);
 *	json_key(&j, "name");
 *	json_string(&j, name);
 *	json_object_end(&j);
 *
 * The caller keeps the grammar: a key before each value of an object, none in
 * an array, and an end for each begin.  Numbers do not depend on the locale.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define JSON_DEPTH_MAX 64u /* of nested objects and arrays */

enum json_layout {
	JSON_COMPACT, /* no white space */
	JSON_LINES,   /* a line for each value of the two outer levels, compact inside them */
	JSON_PRETTY,  /* a line for each value, two spaces a level */
};

struct json {
	struct buf *out; /* borrowed */
	enum json_layout layout;
	unsigned depth;
	uint64_t filled; /* bit n: level n has an element already */
	bool after_key;
};

void json_init(struct json *j, struct buf *out, enum json_layout layout);

void json_object_begin(struct json *j);
void json_object_end(struct json *j);
void json_array_begin(struct json *j);
void json_array_end(struct json *j);

/* Text is any bytes: what is not UTF-8 becomes U+FFFD. */
void json_key(struct json *j, const char *key);
void json_key_text(struct json *j, const char *key, size_t bytes);
void json_string(struct json *j, const char *s); /* NULL is written as null */
void json_text(struct json *j, const char *s, size_t bytes);

/* A value that is JSON already. */
void json_raw(struct json *j, const char *text, size_t bytes);

void json_int(struct json *j, int64_t value);
void json_uint(struct json *j, uint64_t value);
void json_bool(struct json *j, bool value);
void json_null(struct json *j);

/* The shortest text that reads back as the same value; NaN and infinities become null. */
void json_double(struct json *j, double value);

/* Rounded to so many decimals, 0 to 9, all of them written; NaN and infinities become null. */
void json_fixed(struct json *j, double value, unsigned decimals);

/* value / 10^decimals, exactly: nanoseconds as microseconds are json_scaled(&j, ns, 3). */
void json_scaled(struct json *j, int64_t value, unsigned decimals);

#endif
