#include "base/json.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

void json_init(struct json *j, struct buf *out, enum json_layout layout)
{
	memset(j, 0, sizeof(*j));
	j->out = out;
	j->layout = layout;
}

#define LINE_LEVELS 2u /* of JSON_LINES */

/* Before an element of the level `depth`, or, indented less, behind the last one. */
static void new_line(struct json *j, unsigned depth, unsigned indent)
{
	if (!depth || j->layout == JSON_COMPACT)
		return;
	if (j->layout == JSON_LINES && depth > LINE_LEVELS)
		return;
	buf_add_byte(j->out, '\n');
	for (unsigned i = 0; i < indent && j->layout == JSON_PRETTY; i++)
		buf_add(j->out, "  ", 2);
}

/* Whatever comes before the next key or value. */
static void separate(struct json *j)
{
	uint64_t level = (uint64_t)1 << j->depth;

	if (j->after_key) {
		j->after_key = false;
		return;
	}
	if (j->filled & level)
		buf_add_byte(j->out, ',');
	new_line(j, j->depth, j->depth);
	j->filled |= level;
}

static void begin(struct json *j, char bracket)
{
	assert(j->depth + 1 < JSON_DEPTH_MAX);
	separate(j);
	buf_add_byte(j->out, (uint8_t)bracket);
	j->depth++;
	j->filled &= ~((uint64_t)1 << j->depth);
}

static void end(struct json *j, char bracket)
{
	bool filled = j->filled >> j->depth & 1;

	assert(j->depth && !j->after_key);
	if (filled)
		new_line(j, j->depth, j->depth - 1);
	j->depth--;
	buf_add_byte(j->out, (uint8_t)bracket);
}

void json_object_begin(struct json *j)
{
	begin(j, '{');
}

void json_object_end(struct json *j)
{
	end(j, '}');
}

void json_array_begin(struct json *j)
{
	begin(j, '[');
}

void json_array_end(struct json *j)
{
	end(j, ']');
}

static bool is_plain(char c)
{
	return (uint8_t)c >= 0x20 && (uint8_t)c < 0x7f && c != '"' && c != '\\';
}

static void add_escaped(struct buf *out, char c)
{
	static const char letters[] = "\b\f\n\r\t\"\\", names[] = "bfnrt\"\\";
	const char *letter = c ? strchr(letters, c) : NULL;
	char text[8];

	if (letter)
		snprintf(text, sizeof(text), "\\%c", names[letter - letters]);
	else
		snprintf(text, sizeof(text), "\\u%04x", (unsigned)(uint8_t)c);
	buf_add_str(out, text);
}

/* What a terminal or an editor would obey is spelt out; a reader gets the same text. */
static void add_sequence(struct buf *out, const char *s, size_t len)
{
	uint32_t code = utf8_decode(s, len);

	if (!utf8_is_control(code))
		buf_add(out, s, len);
	else if (code < 0x10000)
		buf_printf(out, "\\u%04x", code);
	else
		buf_printf(out, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
}

static void add_quoted(struct buf *out, const char *s, size_t n)
{
	buf_add_byte(out, '"');
	for (size_t i = 0; i < n;) {
		size_t run = 0, len;

		while (i + run < n && is_plain(s[i + run]))
			run++;
		buf_add(out, s + i, run);
		i += run;
		if (i == n)
			break;
		len = utf8_sequence(s + i, n - i);
		if (len > 1)
			add_sequence(out, s + i, len);
		else if (len)
			add_escaped(out, s[i]);
		else
			buf_add_str(out, UTF8_REPLACEMENT);
		i += len ? len : 1;
	}
	buf_add_byte(out, '"');
}

void json_key(struct json *j, const char *key)
{
	json_key_text(j, key, strlen(key));
}

void json_key_text(struct json *j, const char *key, size_t bytes)
{
	separate(j);
	add_quoted(j->out, key, bytes);
	buf_add_byte(j->out, ':');
	if (j->layout == JSON_PRETTY)
		buf_add_byte(j->out, ' ');
	j->after_key = true;
}

void json_raw(struct json *j, const char *text, size_t bytes)
{
	while (bytes && (text[bytes - 1] == '\n' || text[bytes - 1] == ' '))
		bytes--;
	separate(j);
	buf_add(j->out, text, bytes);
}

void json_text(struct json *j, const char *s, size_t bytes)
{
	separate(j);
	add_quoted(j->out, s, bytes);
}

void json_string(struct json *j, const char *s)
{
	if (s)
		json_text(j, s, strlen(s));
	else
		json_null(j);
}

static void add_word(struct json *j, const char *word)
{
	separate(j);
	buf_add_str(j->out, word);
}

void json_bool(struct json *j, bool value)
{
	add_word(j, value ? "true" : "false");
}

void json_null(struct json *j)
{
	add_word(j, "null");
}

/* The magnitude in decimal with a point before the last `decimals` digits. */
static void add_decimal(struct json *j, bool negative, uint64_t magnitude, unsigned decimals)
{
	char text[32];
	char *at = text + sizeof(text);
	unsigned digits = 0;

	assert(decimals <= 19);
	separate(j);
	do {
		if (digits == decimals && decimals)
			*--at = '.';
		*--at = (char)('0' + magnitude % 10);
		magnitude /= 10;
		digits++;
	} while (magnitude || digits <= decimals);
	if (negative)
		*--at = '-';
	buf_add(j->out, at, (size_t)(text + sizeof(text) - at));
}

void json_uint(struct json *j, uint64_t value)
{
	add_decimal(j, false, value, 0);
}

void json_int(struct json *j, int64_t value)
{
	json_scaled(j, value, 0);
}

void json_scaled(struct json *j, int64_t value, unsigned decimals)
{
	uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

	add_decimal(j, value < 0, magnitude, decimals);
}

/* printf() may have written a comma, or whatever the locale has for a point. */
static void add_number(struct json *j, char *text)
{
	char *from = text + strspn(text, "-0123456789");
	char *to = from;

	separate(j);
	if (*from && *from != 'e') {
		*to++ = '.';
		from += strcspn(from, "0123456789"); /* a point may take several bytes */
		memmove(to, from, strlen(from) + 1);
	}
	buf_add_str(j->out, text);
}

void json_double(struct json *j, double value)
{
	char text[64];

	if (!isfinite(value)) {
		json_null(j);
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (!(strtod(text, NULL) < value) && !(strtod(text, NULL) > value))
			break;
	}
	add_number(j, text);
}

void json_fixed(struct json *j, double value, unsigned decimals)
{
	char text[400]; /* the largest double has 309 digits before the point */
	char *from = text;

	assert(decimals <= 9);
	if (!isfinite(value)) {
		json_null(j);
		return;
	}
	snprintf(text, sizeof(text), "%.*f", (int)decimals, value);
	if (*from == '-' && !strpbrk(text, "123456789"))
		from++; /* rounded to nothing: zero has no sign */
	add_number(j, from);
}
