#include "import/json_fields.h"

#include <stdlib.h>
#include <string.h>

#define REAL_MAX 63 /* bytes of a number that is no time */

int json_no_memory(struct json_scan *s)
{
	err_set(s->err, "out of memory");
	s->failed = true;
	return -1;
}

int json_take_plain(struct json_scan *s, struct json_value *v)
{
	if (json_take(s, v))
		return -1;
	if (v->kind == JSON_OBJECT || v->kind == JSON_ARRAY)
		return json_leave(s, true);
	return v->kind == JSON_STRING || v->kind == JSON_NUMBER;
}

static int take_inside(struct json_scan *s, enum json_kind wanted)
{
	struct json_value v;

	if (json_take(s, &v))
		return -1;
	if (v.kind == wanted)
		return 1;
	return v.kind == JSON_OBJECT || v.kind == JSON_ARRAY ? json_leave(s, true) : 0;
}

int json_take_object(struct json_scan *s)
{
	return take_inside(s, JSON_OBJECT);
}

int json_take_array(struct json_scan *s)
{
	return take_inside(s, JSON_ARRAY);
}

uint32_t json_name(struct build *b, const struct json_value *v)
{
	uint32_t name;
	char *out;

	if (!v->escaped)
		return build_name(b, v->text, v->bytes);
	out = malloc(v->bytes + 1);
	if (!out)
		return 0;
	name = build_name(b, out, json_unescape(out, v->text, v->bytes));
	free(out);
	return name;
}

int json_take_name(struct build *b, struct json_scan *s, uint32_t *name)
{
	struct json_value v;
	int rc = json_take_plain(s, &v);

	if (rc != 1)
		return rc;
	*name = json_name(b, &v);
	return *name ? 0 : json_no_memory(s);
}

int json_take_number(struct json_scan *s, uint64_t *number, bool *given)
{
	struct json_value v;
	int64_t whole;
	bool is_one;
	int rc = json_take_plain(s, &v);

	if (rc != 1)
		return rc;
	is_one = json_unsigned(v.text, v.bytes, number);
	if (!is_one) {
		is_one = json_decimal(v.text, v.bytes, 0, &whole) && whole >= 0;
		if (is_one)
			*number = (uint64_t)whole;
		else if (*number != UINT64_MAX)
			*number = 0;
	}
	if (given)
		*given = is_one;
	return 0;
}

int json_take_shape(struct json_scan *s, uint64_t *shape)
{
	struct json_value v;
	int rc;

	if (json_take(s, &v))
		return -1;
	if (v.kind == JSON_OBJECT)
		return json_leave(s, true);
	if (v.kind == JSON_STRING) {
		const char *p = v.text, *end = p + v.bytes;

		for (size_t i = 0; i < 3 && p < end; i++) {
			const char *start;

			while (p < end && (*p < '0' || *p > '9'))
				p++;
			for (start = p; p < end && *p >= '0' && *p <= '9';)
				p++;
			json_unsigned(start, (size_t)(p - start), &shape[i]);
		}
		return 0;
	}
	if (v.kind != JSON_ARRAY)
		return 0;
	for (size_t i = 0; (rc = json_next_item(s, !i)) == 1; i++) {
		uint64_t ignored;

		if (json_take_number(s, i < 3 ? &shape[i] : &ignored, NULL) < 0)
			return -1;
	}
	return rc;
}

#define DIGITS_SAFE 19 /* that fit 64 bits without a sign whatever they are */

/* Digits, a point and up to three more is what nearly all have. */
bool json_micros(const struct json_value *v, int64_t *ns)
{
	const char *p = v->text, *end = p + v->bytes, *point;
	uint64_t value = 0;
	size_t digits;

	for (; p < end && (unsigned)(*p - '0') < 10; p++)
		value = 10 * value + (unsigned)(*p - '0');
	digits = (size_t)(p - v->text);
	point = p;
	if (p < end && *p == '.')
		for (p++; p < end && p - point <= 3 && (unsigned)(*p - '0') < 10; p++)
			value = 10 * value + (unsigned)(*p - '0');
	if (p == end && digits && digits <= DIGITS_SAFE - 3 && p - point != 1) {
		for (p -= p > point; p < point + 3; p++)
			value *= 10;
		*ns = (int64_t)value;
		if (value <= INT64_MAX)
			return true;
	}
	return json_decimal(v->text, v->bytes, 3, ns);
}

double json_real(const struct json_value *v)
{
	char text[REAL_MAX + 1];
	size_t n = v->bytes < REAL_MAX ? v->bytes : REAL_MAX;

	memcpy(text, v->text, n);
	text[n] = '\0';
	return strtod(text, NULL);
}
