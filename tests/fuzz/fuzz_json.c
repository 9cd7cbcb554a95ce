/* links: is_base */
/*
 * The JSON writer's round trip: the bytes are orders to write values, a parser
 * that shares nothing with the writer reads them back, and what it read must be
 * what was ordered, text for text and number for number.
 */
#include <math.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/json.h"
#include "strict_json.h"

struct input {
	const uint8_t *p, *end;
};

struct expected {
	char kind;
	enum { AS_TEXT, AS_DOUBLE, AS_ROUNDED } how;
	size_t at, n; /* in `texts` */
	double value;
	unsigned decimals;
};

#define VALUES_MAX 2048u

static struct expected expected[VALUES_MAX + 2 * JSON_DEPTH_MAX];
static size_t expected_count;
static struct buf texts;

static void require(int ok)
{
	if (!ok)
		abort();
}

static uint8_t next(struct input *in)
{
	return in->p < in->end ? *in->p++ : 0;
}

static uint64_t next_word(struct input *in)
{
	uint64_t word = 0;

	for (int i = 0; i < 8; i++)
		word = word << 8 | next(in);
	return word;
}

static struct expected *expect(char kind, size_t at)
{
	struct expected *e = &expected[expected_count++];

	*e = (struct expected){ .kind = kind, .at = at, .n = texts.len - at };
	return e;
}

static bool is_continued(const uint8_t *p, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return false;
	return true;
}

/* Bytes of the character at p, or 0; from the table of RFC 3629. */
static size_t character(const uint8_t *p, size_t n)
{
	if (p[0] < 0x80)
		return 1;
	if (p[0] >= 0xc2 && p[0] <= 0xdf && n >= 2 && is_continued(p, 2))
		return 2;
	if (p[0] >= 0xe0 && p[0] <= 0xef && n >= 3 && is_continued(p, 3) &&
	    !(p[0] == 0xe0 && p[1] < 0xa0) && !(p[0] == 0xed && p[1] > 0x9f))
		return 3;
	if (p[0] >= 0xf0 && p[0] <= 0xf4 && n >= 4 && is_continued(p, 4) &&
	    !(p[0] == 0xf0 && p[1] < 0x90) && !(p[0] == 0xf4 && p[1] > 0x8f))
		return 4;
	return 0;
}

/* The next bytes of the input, as text that the writer gets and as it must come back. */
static const char *next_text(struct input *in, size_t *n)
{
	const uint8_t *p = in->p;

	*n = next(in) & 31;
	p = in->p;
	if (*n > (size_t)(in->end - p))
		*n = (size_t)(in->end - p);
	in->p += *n;
	for (size_t i = 0, len; i < *n; i += len ? len : 1) {
		len = character(p + i, *n - i);
		if (len)
			buf_add(&texts, p + i, len);
		else
			buf_add_str(&texts, "\xef\xbf\xbd");
	}
	return (const char *)p;
}

static void order_key(struct json *j, struct input *in)
{
	size_t at = texts.len, n;
	const char *key = next_text(in, &n);

	json_key_text(j, key, n);
	expect('k', at);
}

static void order_text(struct json *j, struct input *in)
{
	size_t at = texts.len, n;
	const char *text = next_text(in, &n);

	json_text(j, text, n);
	expect('s', at);
}

static void order_scaled(struct json *j, struct input *in)
{
	int64_t value = (int64_t)next_word(in);
	unsigned decimals = next(in) % 20;
	size_t at = texts.len;
	char digits[64];

	json_scaled(j, value, decimals);
	/* At least one digit before the point, whatever is behind it. */
	snprintf(digits, sizeof(digits), "%0*llu", (int)decimals + 1,
		 value < 0 ? 0ull - (unsigned long long)value : (unsigned long long)value);
	buf_printf(&texts, "%s%.*s", value < 0 ? "-" : "", (int)(strlen(digits) - decimals),
		   digits);
	if (decimals)
		buf_printf(&texts, ".%s", digits + strlen(digits) - decimals);
	expect('n', at);
}

static void order_double(struct json *j, struct input *in, bool fixed)
{
	uint64_t word = next_word(in);
	unsigned decimals = next(in) % 10;
	struct expected *e;
	double value;

	memcpy(&value, &word, sizeof(value));
	if (fixed)
		json_fixed(j, value, decimals);
	else
		json_double(j, value);
	e = expect(isfinite(value) ? 'n' : '0', texts.len);
	e->how = !isfinite(value) ? AS_TEXT : fixed ? AS_ROUNDED : AS_DOUBLE;
	e->value = value;
	e->decimals = decimals;
}

static void order_word(struct json *j, unsigned which)
{
	if (which)
		json_bool(j, which == 1);
	else
		json_null(j);
	expect("0tf"[which], texts.len);
}

static void order_integer(struct json *j, struct input *in, bool is_signed)
{
	uint64_t value = next_word(in);
	size_t at = texts.len;

	if (is_signed) {
		json_int(j, (int64_t)value);
		buf_printf(&texts, "%lld", (long long)value);
	} else {
		json_uint(j, value);
		buf_printf(&texts, "%llu", (unsigned long long)value);
	}
	expect('n', at);
}

/* Values until the level ends, or the input does. */
static void order_members(struct json *j, struct input *in, bool object, unsigned depth)
{
	expect(object ? '{' : '[', texts.len);
	if (object)
		json_object_begin(j);
	else
		json_array_begin(j);
	while (in->p < in->end && expected_count < VALUES_MAX) {
		uint8_t order = next(in) % 12;

		if (order == 0)
			break;
		if (object)
			order_key(j, in);
		if (order <= 2 && depth + 2 < JSON_DEPTH_MAX)
			order_members(j, in, order == 1, depth + 1);
		else if (order <= 4)
			order_text(j, in);
		else if (order <= 6)
			order_integer(j, in, order == 5);
		else if (order == 7)
			order_scaled(j, in);
		else if (order <= 9)
			order_double(j, in, order == 8);
		else
			order_word(j, next(in) % 3);
	}
	if (object)
		json_object_end(j);
	else
		json_array_end(j);
	expect(object ? '}' : ']', texts.len);
}

static void compare(const struct expected *e, const struct strict_token *t, const char *text)
{
	char number[512];
	double read;

	require(e->kind == t->kind);
	if (e->how == AS_TEXT) {
		require(e->n == t->n && (!t->n || !memcmp(texts.data + e->at, text + t->at, t->n)));
		return;
	}
	require(t->n < sizeof(number));
	memcpy(number, text + t->at, t->n);
	number[t->n] = '\0';
	read = strtod(number, NULL);
	if (e->how == AS_DOUBLE) {
		require(!memcmp(&read, &e->value, sizeof(read)));
		return;
	}
	/* Half of the last decimal, and what reading it back as a double may add. */
	require(fabs(read - e->value) <=
		0.5 * pow(10, -(double)e->decimals) + fabs(e->value) * 1e-15);
	require(strlen(number) > e->decimals);
	require(!e->decimals || number[strlen(number) - e->decimals - 1] == '.');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };
	struct strict_json seen;
	struct buf out;
	struct json j;

	buf_init(&out);
	buf_init(&texts);
	expected_count = 0;
	json_init(&j, &out, (enum json_layout)(next(&in) % 3));
	order_members(&j, &in, next(&in) & 1, 0);
	require(!out.failed && !texts.failed);
	require(strict_parse(&seen, out.data, out.len));
	require(seen.count == expected_count);
	for (size_t i = 0; i < seen.count; i++)
		compare(&expected[i], &seen.tokens[i], seen.text);
	strict_release(&seen);
	buf_release(&out);
	buf_release(&texts);
	return 0;
}
