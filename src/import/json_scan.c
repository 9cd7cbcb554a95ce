#include "import/json_scan.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW_BYTES ((size_t)256 << 10)
#define WINDOW_MAX ((size_t)16 << 20)  /* for one token */
#define STRING_KEPT ((size_t)64 << 10) /* of a longer one */

int json_scan_init(struct json_scan *s, struct text_source *source, struct err *err)
{
	memset(s, 0, sizeof(*s));
	s->source = source;
	s->err = err;
	s->blocks = json_blocks_best();
	s->cap = WINDOW_BYTES;
	s->text = malloc(s->cap + JSON_BLOCK);
	s->escapes = malloc(s->cap / JSON_BLOCK + 1);
	if (!s->text || !s->escapes) {
		json_scan_release(s);
		return err_set(err, "out of memory");
	}
	return 0;
}

void json_scan_release(struct json_scan *s)
{
	free(s->text);
	free(s->index);
	free(s->escapes);
	s->text = NULL;
	s->index = NULL;
	s->escapes = NULL;
}

uint64_t json_position(const struct json_scan *s)
{
	return s->offset + (s->at < s->count ? s->index[s->at] : s->len);
}

static int fail_at(struct json_scan *s, const char *what, uint64_t offset)
{
	if (!s->failed)
		err_set(s->err, "%s at byte %llu%s", what, (unsigned long long)offset,
			text_source_packing(s->source) == PACKED_NOT ? ""
								     : " of the unpacked text");
	s->failed = true;
	return -1;
}

int json_fail(struct json_scan *s, const char *what)
{
	return fail_at(s, what, json_position(s));
}

static int fail_short(struct json_scan *s)
{
	if (!s->failed)
		s->truncated = true;
	return fail_at(s, "the text ends too early,", s->offset + s->len);
}

static int fail_memory(struct json_scan *s)
{
	if (!s->failed)
		err_set(s->err, "out of memory");
	s->failed = true;
	return -1;
}

/* Moves what is still needed, from the block of byte `from` on, to the start of the window. */
static void window_shift(struct json_scan *s, size_t from)
{
	size_t base = from / JSON_BLOCK * JSON_BLOCK;

	if (!base && !s->at)
		return;
	memmove(s->text, s->text + base, s->len - base);
	memmove(s->escapes, s->escapes + base / JSON_BLOCK, (s->indexed - base) / JSON_BLOCK);
	for (size_t i = s->at; i < s->count; i++)
		s->index[i - s->at] = s->index[i] - (uint32_t)base;
	s->count -= s->at;
	s->at = 0;
	s->len -= base;
	s->indexed -= base;
	s->offset += base;
}

/* A string, or white space, fills the window: its middle is not kept.  Whole blocks go. */
static void window_drop(struct json_scan *s)
{
	size_t from = (s->index[s->count - 1] + STRING_KEPT) / JSON_BLOCK * JSON_BLOCK;
	size_t gone = s->indexed - from;

	memmove(s->text + from, s->text + s->indexed, s->len - s->indexed);
	s->len -= gone;
	s->indexed = from;
	s->offset += gone;
}

static int window_grow(struct json_scan *s)
{
	uint8_t *text, *escapes;

	if (s->cap - s->len >= WINDOW_BYTES / 2)
		return 0;
	if (s->cap >= WINDOW_MAX) {
		if (s->carry.in_scalar)
			return json_fail(s, "a number or word of more than 16 MiB");
		window_drop(s);
		return 0;
	}
	text = realloc(s->text, 2 * s->cap + JSON_BLOCK);
	if (text)
		s->text = text;
	escapes = realloc(s->escapes, 2 * s->cap / JSON_BLOCK + 1);
	if (escapes)
		s->escapes = escapes;
	if (!text || !escapes)
		return fail_memory(s);
	s->cap *= 2;
	return 0;
}

static int index_reserve(struct json_scan *s, size_t bytes)
{
	uint32_t *grown;
	size_t need = s->count + bytes + JSON_BLOCK;

	if (need <= s->index_cap)
		return 0;
	grown = realloc(s->index, need * sizeof(*grown));
	if (!grown)
		return fail_memory(s);
	s->index = grown;
	s->index_cap = need;
	return 0;
}

/* Reads on; at least one more token, or the end, unless a token is longer than what was read. */
static int refill(struct json_scan *s)
{
	size_t blocks;
	ssize_t got;

	if (s->failed)
		return -1;
	window_shift(s, s->at < s->count ? s->index[s->at] : s->indexed);
	if (s->count && window_grow(s))
		return -1;
	got = text_source_read(s->source, s->text + s->len, s->cap - s->len, s->err);
	if (got < 0) {
		s->failed = true;
		s->truncated = text_source_damaged(s->source);
		return -1;
	}
	s->len += (size_t)got;
	s->ended = !got;
	if (!s->offset && !s->indexed && s->len >= 3 && !memcmp(s->text, "\xef\xbb\xbf", 3))
		memset(s->text, ' ', 3);
	blocks = (s->len - s->indexed) / JSON_BLOCK;
	if (s->ended && s->len > s->indexed) {
		memset(s->text + s->len, ' ', JSON_BLOCK);
		blocks++;
	}
	if (index_reserve(s, blocks * JSON_BLOCK))
		return -1;
	s->count += s->blocks(&s->carry, s->text + s->indexed, blocks, (uint32_t)s->indexed,
			      s->index + s->count, s->escapes + s->indexed / JSON_BLOCK);
	s->indexed += blocks * JSON_BLOCK;
	if (s->indexed > s->len)
		s->indexed = s->len;
	return 0;
}

/* Are the next n tokens there, or all that are left?  Then nothing moves until they are used. */
static inline int ensure(struct json_scan *s, size_t n)
{
	while (__builtin_expect(s->at + n >= s->count && !s->ended, 0))
		if (refill(s))
			return -1;
	return 0;
}

/* The byte that the next token begins with; 0: the text ends here. */
static inline unsigned peek(const struct json_scan *s)
{
	return s->at < s->count ? s->text[s->index[s->at]] : 0;
}

static bool has_escape(const struct json_scan *s, size_t start, size_t end)
{
	for (size_t i = start / JSON_BLOCK; i <= end / JSON_BLOCK; i++)
		if (s->escapes[i])
			return true;
	return false;
}

static inline bool is_digit(unsigned c)
{
	return c - '0' < 10;
}

/* Behind the number at p, by the grammar; NULL: it is none. */
static const uint8_t *number_end(const uint8_t *p)
{
	if (*p == '-')
		p++;
	if (!is_digit(*p))
		return NULL;
	if (*p++ != '0')
		while (is_digit(*p))
			p++;
	if (*p == '.') {
		if (!is_digit(*++p))
			return NULL;
		while (is_digit(*p))
			p++;
	}
	if (*p == 'e' || *p == 'E') {
		p++;
		if (*p == '+' || *p == '-')
			p++;
		if (!is_digit(*p))
			return NULL;
		while (is_digit(*p))
			p++;
	}
	return p;
}

/* What may follow a number or a word. */
static const bool ends[256] = {
	[','] = true,  ['}'] = true, [']'] = true, ['\n'] = true, [' '] = true, ['\r'] = true,
	['\t'] = true, [':'] = true, ['['] = true, ['{'] = true,  ['"'] = true,
};

static inline bool ends_scalar(unsigned c)
{
	return ends[c];
}

static const struct {
	const char *word;
	enum json_kind kind;
} words[] = {
	{ "true", JSON_TRUE },   { "false", JSON_FALSE },     { "null", JSON_NULL },
	{ "NaN", JSON_NUMBER },  { "Infinity", JSON_NUMBER }, { "-Infinity", JSON_NUMBER },
	{ "-NaN", JSON_NUMBER }, /* printf() writes "-nan", and some print it like this */
};

/* The number or word at `at`; NULL: it is neither. */
static const uint8_t *scalar_end(const uint8_t *p, enum json_kind *kind)
{
	const uint8_t *end = number_end(p);

	*kind = JSON_NUMBER;
	if (end)
		return ends_scalar(*end) ? end : NULL;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t n = strlen(words[i].word);

		if (memcmp(p, words[i].word, n) != 0 || !ends_scalar(p[n]))
			continue;
		*kind = words[i].kind;
		return p + n;
	}
	return NULL;
}

static int level_push(struct json_scan *s, bool object)
{
	uint8_t bit = (uint8_t)(1u << s->level % 8);

	if (s->level >= JSON_LEVELS_MAX)
		return json_fail(s, "nested more than 65,536 deep");
	if (object)
		s->in_object[s->level / 8] |= bit;
	else
		s->in_object[s->level / 8] &= (uint8_t)~bit;
	s->level++;
	return 0;
}

static inline bool level_is_object(const struct json_scan *s)
{
	return s->in_object[(s->level - 1) / 8] >> (s->level - 1) % 8 & 1;
}

static int unexpected(struct json_scan *s)
{
	if (!peek(s) && s->at >= s->count)
		return fail_short(s);
	return json_fail(s, "unexpected character");
}

/* With both quotes there. */
static inline int take_string(struct json_scan *s, struct json_value *v)
{
	size_t start, end;

	if (s->at + 1 >= s->count)
		return fail_short(s);
	start = s->index[s->at] + 1;
	end = s->index[s->at + 1];
	s->at += 2;
	*v = (struct json_value){
		.kind = JSON_STRING,
		.escaped = has_escape(s, start, end),
		.text = (const char *)s->text + start,
		.bytes = end - start,
	};
	return 0;
}

/* One that reaches to the end of the text may be the beginning of a value. */
static int not_a_value(struct json_scan *s, const uint8_t *p)
{
	const uint8_t *end = s->text + s->len;

	while (p < end && !ends_scalar(*p))
		p++;
	return p == end ? fail_short(s) : json_fail(s, "not a value");
}

int json_take(struct json_scan *s, struct json_value *v)
{
	const uint8_t *from, *end;

	if (ensure(s, 2))
		return -1;
	switch (peek(s)) {
	case '"':
		return take_string(s, v);
	case '{':
	case '[':
		v->kind = peek(s) == '{' ? JSON_OBJECT : JSON_ARRAY;
		if (level_push(s, v->kind == JSON_OBJECT))
			return -1;
		s->at++;
		return 0;
	case '}':
	case ']':
	case ',':
	case ':':
	case 0:
		return unexpected(s);
	default:
		break;
	}
	from = s->text + s->index[s->at];
	end = scalar_end(from, &v->kind);
	if (!end)
		return not_a_value(s, from);
	v->escaped = false;
	v->text = (const char *)from;
	v->bytes = (size_t)(end - from);
	s->at++;
	return 0;
}

/* 1: at a member; 0: closed. */
static inline int next_member(struct json_scan *s, bool first, unsigned close)
{
	if (ensure(s, 5))
		return -1;
	if (peek(s) == close) {
		s->at++;
		s->level--;
		return 0;
	}
	if (first)
		return 1;
	if (peek(s) != ',')
		return unexpected(s);
	s->at++;
	return 1;
}

int json_next_key(struct json_scan *s, const char **key, size_t *bytes, bool first)
{
	struct json_value v = { .text = "" };
	int rc = next_member(s, first, '}');

	if (rc <= 0)
		return rc;
	if (peek(s) != '"')
		return unexpected(s);
	if (take_string(s, &v))
		return -1;
	if (peek(s) != ':')
		return unexpected(s);
	s->at++;
	*key = v.text;
	*bytes = v.bytes;
	return 1;
}

int json_next_item(struct json_scan *s, bool first)
{
	int rc = next_member(s, first, ']');

	if (rc == 1 && s->at >= s->count)
		return fail_short(s);
	return rc;
}

/* Up to where the level that is open now is closed, or, from a value on, to its end. */
static int skip_to(struct json_scan *s, size_t level, bool value, bool first)
{
	const uint8_t *end;
	enum json_kind kind;
	unsigned c;

	if (!value)
		goto member;
value:
	if (ensure(s, 2))
		return -1;
	c = peek(s);
	switch (c) {
	case '"':
		if (s->at + 1 >= s->count)
			return fail_short(s);
		s->at += 2;
		goto done;
	case '{':
	case '[':
		if (level_push(s, c == '{'))
			return -1;
		s->at++;
		first = true;
		goto member;
	case 0:
		return unexpected(s);
	default:
		end = s->text + s->index[s->at];
		while (is_digit(*end)) /* most are short numbers */
			end++;
		if ((c - '1' >= 9 || !ends_scalar(*end)) &&
		    !scalar_end(s->text + s->index[s->at], &kind))
			return not_a_value(s, s->text + s->index[s->at]);
		s->at++;
	}
done:
	if (s->level == level)
		return 0;
	first = false;
member:
	if (ensure(s, 5))
		return -1;
	c = peek(s);
	if (c == (level_is_object(s) ? '}' : ']')) {
		s->at++;
		s->level--;
		goto done;
	}
	if (!first) {
		if (c != ',')
			return unexpected(s);
		s->at++;
	}
	if (!level_is_object(s))
		goto value;
	if (peek(s) != '"')
		return unexpected(s);
	if (s->at + 2 >= s->count)
		return fail_short(s);
	s->at += 2;
	if (peek(s) != ':')
		return unexpected(s);
	s->at++;
	goto value;
}

int json_skip(struct json_scan *s)
{
	return skip_to(s, s->level, true, false);
}

int json_leave(struct json_scan *s, bool first)
{
	return skip_to(s, s->level - 1, false, first);
}

int json_finish(struct json_scan *s)
{
	if (ensure(s, 1))
		return -1;
	return s->at < s->count ? json_fail(s, "something follows the end of the JSON text") : 0;
}
