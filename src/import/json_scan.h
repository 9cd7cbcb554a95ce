/*
 * A JSON text (RFC 8259), token by token, while it is being read: memory is bounded whatever the
 * length of the text.
 *
 * Accepted beyond the RFC, because profilers write it: NaN, Infinity and -Infinity as numbers;
 * control characters and invalid escapes inside strings; bytes that are not UTF-8; a byte order
 * mark.  Not accepted within it: more than 65,536 levels, numbers of more than 16 MiB.  Of a
 * string of more than 16 MiB the middle is not given.
 *
 * A function that returns -1 has set the text of the error, with its offset in the text; every
 * later call fails likewise.  What a pointer points to is gone with the next call.
 */
#ifndef IMPORT_JSON_SCAN_H
#define IMPORT_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "import/json_blocks.h"
#include "import/text_source.h"

#define JSON_LEVELS_MAX 65536u

enum json_kind {
	JSON_STRING,
	JSON_NUMBER,
	JSON_TRUE,
	JSON_FALSE,
	JSON_NULL,
	JSON_OBJECT,
	JSON_ARRAY,
};

struct json_value {
	enum json_kind kind;
	bool escaped;     /* there is a backslash in the string */
	const char *text; /* of a string, between its quotes; of a number */
	size_t bytes;
};

struct json_scan {
	struct text_source *source; /* borrowed */
	json_blocks_fn *blocks;
	struct json_carry carry;
	uint8_t *text; /* a window of the whole; [0, len), of which [0, indexed) is indexed */
	size_t len, indexed, cap;
	uint64_t offset; /* of the window in the whole */
	uint32_t *index; /* positions of tokens in the window; the next is index[at] */
	size_t count, at, index_cap;
	uint8_t *escapes; /* by block of the window */
	size_t level;
	uint8_t in_object[JSON_LEVELS_MAX / 8]; /* a bit for each level */
	bool ended;                             /* the window reaches to the end of the text */
	bool truncated;                         /* the failure is that the text ends too early */
	bool failed;
	struct err *err; /* the caller's */
};

int json_scan_init(struct json_scan *s, struct text_source *source, struct err *err);
void json_scan_release(struct json_scan *s);

/*
 * A value: strings, numbers and words are consumed; of objects and arrays the bracket is, and
 * json_next() or json_leave() must follow.
 */
int json_take(struct json_scan *s, struct json_value *v);

/* The next member of the object or array that is open: 1 there is one, 0 it is closed now. */
int json_next_key(struct json_scan *s, const char **key, size_t *bytes, bool first);
int json_next_item(struct json_scan *s, bool first);

int json_skip(struct json_scan *s);              /* the value that comes next */
int json_leave(struct json_scan *s, bool first); /* the rest of what is open, which is closed */

/* Nothing but white space may follow. */
int json_finish(struct json_scan *s);

uint64_t json_position(const struct json_scan *s);    /* of the next token */
int json_fail(struct json_scan *s, const char *what); /* "WHAT at byte N" */

/* Text between quotes to what it means, in UTF-8; `out` has room for as many bytes. */
size_t json_unescape(char *out, const char *text, size_t bytes);

/*
 * A decimal number, times 10^scale, exactly; what is smaller than one is cut off.  False where it
 * is none, or does not fit; then *out is the nearest that does, or 0.
 */
bool json_decimal(const char *text, size_t bytes, unsigned scale, int64_t *out);
bool json_unsigned(const char *text, size_t bytes, uint64_t *out); /* likewise, of an integer */

#endif
