/*
 * A JSON parser that knows nothing of base/json.h: RFC 8259 to the letter, UTF-8
 * checked by arithmetic.  What it reads becomes a list of tokens.
 */
#ifndef FUZZ_STRICT_JSON_H
#define FUZZ_STRICT_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define STRICT_DEPTH_MAX 100

struct strict_token {
	char kind;    /* one of {}[] as they stand; k key, s string, n number, t f 0 words */
	size_t at, n; /* in `text`: strings without their escapes, numbers as written */
};

struct strict_json {
	const uint8_t *p, *end;
	struct strict_token *tokens;
	size_t count, cap;
	char *text;
	size_t len, room;
};

static inline void strict_release(struct strict_json *j)
{
	free(j->tokens);
	free(j->text);
}

static inline void strict_text(struct strict_json *j, uint8_t byte)
{
	if (j->len == j->room) {
		j->room = 2 * j->room + 64;
		j->text = realloc(j->text, j->room);
		if (!j->text)
			abort();
	}
	j->text[j->len++] = (char)byte;
}

static inline void strict_token(struct strict_json *j, char kind, size_t at)
{
	if (j->count == j->cap) {
		j->cap = 2 * j->cap + 64;
		j->tokens = realloc(j->tokens, j->cap * sizeof(*j->tokens));
		if (!j->tokens)
			abort();
	}
	j->tokens[j->count++] = (struct strict_token){ kind, at, j->len - at };
}

static inline void strict_space(struct strict_json *j)
{
	while (j->p < j->end && (*j->p == ' ' || *j->p == '\t' || *j->p == '\n' || *j->p == '\r'))
		j->p++;
}

static inline bool strict_take(struct strict_json *j, char c)
{
	if (j->p == j->end || *j->p != (uint8_t)c)
		return false;
	j->p++;
	return true;
}

/* One character that is not ASCII. */
static inline bool strict_wide(struct strict_json *j)
{
	uint8_t first = *j->p;
	int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
	uint32_t least = more == 3 ? 0x10000 : more == 2 ? 0x800 : 0x80;
	uint32_t code = first & (0x3fu >> more);

	if (first < 0xc0 || first > 0xf7 || j->end - j->p <= more)
		return false;
	strict_text(j, *j->p++);
	for (; more; more--) {
		if ((*j->p & 0xc0) != 0x80)
			return false;
		code = code << 6 | (*j->p & 0x3fu);
		strict_text(j, *j->p++);
	}
	return code >= least && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

/* The four digits behind a \u. */
static inline bool strict_unit(struct strict_json *j, uint32_t *code)
{
	*code = 0;
	if (!strict_take(j, 'u') || j->end - j->p < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		static const char digits[] = "0123456789abcdef";
		const char *digit = *j->p ? strchr(digits, *j->p++ | 0x20) : NULL;

		if (!digit)
			return false;
		*code = *code << 4 | (uint32_t)(digit - digits);
	}
	return true;
}

static inline void strict_utf8(struct strict_json *j, uint32_t code)
{
	int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;

	strict_text(j,
		    (uint8_t)(more ? (0xff00u >> (more + 1) & 0xff) | code >> (6 * more) : code));
	while (more--)
		strict_text(j, (uint8_t)(0x80 | (code >> (6 * more) & 0x3f)));
}

/* Behind the backslash. */
static inline bool strict_escape(struct strict_json *j)
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	const char *name = j->p < j->end && *j->p ? strchr(names, *j->p) : NULL;
	uint32_t code, low;

	if (name) {
		j->p++;
		strict_text(j, (uint8_t)values[name - names]);
		return true;
	}
	if (!strict_unit(j, &code) || (code >= 0xdc00 && code < 0xe000))
		return false;
	if (code >= 0xd800 && code < 0xdc00) {
		if (!strict_take(j, '\\') || !strict_unit(j, &low) || low < 0xdc00 || low >= 0xe000)
			return false;
		code = 0x10000 + ((code & 0x3ff) << 10 | (low & 0x3ff));
	}
	strict_utf8(j, code);
	return true;
}

static inline bool strict_string(struct strict_json *j, char kind)
{
	size_t at = j->len;

	if (!strict_take(j, '"'))
		return false;
	while (j->p < j->end && *j->p != '"') {
		bool ok = true;

		if (*j->p < 0x20)
			return false;
		if (strict_take(j, '\\'))
			ok = strict_escape(j);
		else if (*j->p >= 0x80)
			ok = strict_wide(j);
		else
			strict_text(j, *j->p++);
		if (!ok)
			return false;
	}
	strict_token(j, kind, at);
	return strict_take(j, '"');
}

static inline bool strict_digits(struct strict_json *j)
{
	const uint8_t *from = j->p;

	while (j->p < j->end && *j->p >= '0' && *j->p <= '9')
		strict_text(j, *j->p++);
	return j->p > from;
}

static inline bool strict_number(struct strict_json *j)
{
	size_t at = j->len;

	if (strict_take(j, '-'))
		strict_text(j, '-');
	if (strict_take(j, '0'))
		strict_text(j, '0');
	else if (!strict_digits(j))
		return false;
	if (strict_take(j, '.')) {
		strict_text(j, '.');
		if (!strict_digits(j))
			return false;
	}
	if (strict_take(j, 'e') || strict_take(j, 'E')) {
		strict_text(j, 'e');
		if (j->p < j->end && (*j->p == '+' || *j->p == '-'))
			strict_text(j, *j->p++);
		if (!strict_digits(j))
			return false;
	}
	strict_token(j, 'n', at);
	return true;
}

static inline bool strict_word(struct strict_json *j, const char *word, char kind)
{
	size_t n = strlen(word);

	if ((size_t)(j->end - j->p) < n || memcmp(j->p, word, n))
		return false;
	j->p += n;
	strict_token(j, kind, j->len);
	return true;
}

static inline bool strict_value(struct strict_json *j, int depth);

static inline bool strict_members(struct strict_json *j, char close, int depth)
{
	strict_space(j);
	if (!strict_take(j, close)) {
		do {
			strict_space(j);
			if (close == '}') {
				if (!strict_string(j, 'k'))
					return false;
				strict_space(j);
				if (!strict_take(j, ':'))
					return false;
			}
			if (!strict_value(j, depth + 1))
				return false;
			strict_space(j);
		} while (strict_take(j, ','));
		if (!strict_take(j, close))
			return false;
	}
	strict_token(j, close, j->len);
	return true;
}

static inline bool strict_value(struct strict_json *j, int depth)
{
	strict_space(j);
	if (depth > STRICT_DEPTH_MAX || j->p == j->end)
		return false;
	switch (*j->p) {
	case '{':
	case '[':
		strict_token(j, (char)*j->p, j->len);
		return strict_members(j, *j->p++ == '{' ? '}' : ']', depth);
	case '"':
		return strict_string(j, 's');
	case 't':
		return strict_word(j, "true", 't');
	case 'f':
		return strict_word(j, "false", 'f');
	case 'n':
		return strict_word(j, "null", '0');
	default:
		return strict_number(j);
	}
}

/* One value and nothing else.  False: this is no JSON.  strict_release() either way. */
static inline bool strict_parse(struct strict_json *j, const void *data, size_t n)
{
	memset(j, 0, sizeof(*j));
	j->p = data;
	j->end = j->p + n;
	if (!strict_value(j, 0))
		return false;
	strict_space(j);
	return j->p == j->end;
}

#endif
