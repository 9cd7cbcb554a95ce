/* Strings and numbers of a JSON text to what they mean.  No number goes through a double. */
#include <string.h>

#include "import/json_scan.h"

static int hex_digit(unsigned char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The four digits behind "\u"; -1: they are none. */
static int32_t hex4(const char *p, const char *end)
{
	int32_t value = 0;

	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int digit = hex_digit((unsigned char)p[i]);

		if (digit < 0)
			return -1;
		value = value << 4 | digit;
	}
	return value;
}

static char *put_utf8(char *out, uint32_t code)
{
	if (code < 0x80) {
		*out++ = (char)code;
	} else if (code < 0x800) {
		*out++ = (char)(0xc0 | code >> 6);
		*out++ = (char)(0x80 | (code & 0x3f));
	} else if (code < 0x10000) {
		*out++ = (char)(0xe0 | code >> 12);
		*out++ = (char)(0x80 | (code >> 6 & 0x3f));
		*out++ = (char)(0x80 | (code & 0x3f));
	} else {
		*out++ = (char)(0xf0 | code >> 18);
		*out++ = (char)(0x80 | (code >> 12 & 0x3f));
		*out++ = (char)(0x80 | (code >> 6 & 0x3f));
		*out++ = (char)(0x80 | (code & 0x3f));
	}
	return out;
}

#define REPLACEMENT 0xfffd /* a surrogate without its other half */

/* Behind "\u"; moves *p behind what was taken.  No escape takes fewer bytes than its UTF-8. */
static char *unescape_code(char *out, const char **p, const char *end)
{
	int32_t code = hex4(*p, end), low;

	if (code < 0) {
		*out++ = '\\';
		*out++ = 'u';
		return out;
	}
	*p += 4;
	if (code < 0xd800 || code > 0xdfff)
		return put_utf8(out, (uint32_t)code);
	if (code > 0xdbff || end - *p < 6 || (*p)[0] != '\\' || (*p)[1] != 'u')
		return put_utf8(out, REPLACEMENT);
	low = hex4(*p + 2, end);
	if (low < 0xdc00 || low > 0xdfff)
		return put_utf8(out, REPLACEMENT);
	*p += 6;
	return put_utf8(out,
			0x10000u + ((uint32_t)code - 0xd800) * 0x400u + (uint32_t)low - 0xdc00);
}

size_t json_unescape(char *out, const char *text, size_t bytes)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *p = text, *end = text + bytes;
	char *at = out;

	while (p < end) {
		const char *known;

		if (*p != '\\' || p + 1 == end) {
			*at++ = *p++;
			continue;
		}
		p++;
		known = *p ? strchr(from, *p) : NULL;
		if (known) {
			*at++ = to[known - from];
			p++;
		} else if (*p == 'u') {
			p++;
			at = unescape_code(at, &p, end);
		} else {
			*at++ = '\\'; /* a path of Windows, most of all: kept as it is */
		}
	}
	return (size_t)(at - out);
}

#define DIGITS_MAX 18 /* that fit 63 bits whatever they are */

static bool add_digit(uint64_t *value, unsigned digit)
{
	return __builtin_mul_overflow(*value, 10u, value) ||
	       __builtin_add_overflow(*value, (uint64_t)digit, value);
}

/* The power of ten behind "e"; bounded, so that nothing runs away. */
static long exponent_of(const char *p, const char *end)
{
	bool negative = p < end && *p == '-';
	long value = 0;

	if (p < end && (*p == '-' || *p == '+'))
		p++;
	for (; p < end && *p >= '0' && *p <= '9'; p++)
		if (value < 1000000)
			value = 10 * value + (*p - '0');
	return negative ? -value : value;
}

/* Digits with the point behind `whole` of them, as if they were an integer of `take` digits. */
static bool scaled_digits(const char *p, const char *end, long take, uint64_t *out)
{
	uint64_t value = 0;
	bool overflow = false;

	for (; p < end && take > 0; p++) {
		if (*p == '.')
			continue;
		if (*p < '0' || *p > '9')
			break;
		overflow |= add_digit(&value, (unsigned)(*p - '0'));
		if (overflow)
			return false;
		take--;
	}
	for (; take > 0 && value; take--)
		if (add_digit(&value, 0))
			return false;
	*out = value;
	return true;
}

bool json_decimal(const char *text, size_t bytes, unsigned scale, int64_t *out)
{
	const char *p = text, *end = text + bytes, *digits;
	bool negative = p < end && *p == '-', fits;
	uint64_t value = 0;
	long whole = 0, exponent = 0;

	*out = 0;
	if (p < end && (*p == '-' || *p == '+'))
		p++;
	digits = p;
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	whole = p - digits;
	if (p < end && *p == '.')
		for (p++; p < end && *p >= '0' && *p <= '9';)
			p++;
	if (p == digits || (p == digits + 1 && *digits == '.'))
		return false;
	if (p < end && (*p == 'e' || *p == 'E'))
		exponent = exponent_of(p + 1, end);
	else if (p != end)
		return false;
	fits = scaled_digits(digits, end, whole + exponent + (long)scale, &value) &&
	       value <= INT64_MAX;
	if (!fits)
		value = INT64_MAX;
	*out = negative ? -(int64_t)value : (int64_t)value;
	return fits;
}

bool json_unsigned(const char *text, size_t bytes, uint64_t *out)
{
	const char *p = text, *end = text + bytes;

	*out = 0;
	if (bytes > 2 && p[0] == '0' && (p[1] | 0x20) == 'x') {
		for (p += 2; p < end; p++) {
			int digit = hex_digit((unsigned char)*p);

			if (digit < 0 || *out >> 60)
				return false;
			*out = *out << 4 | (unsigned)digit;
		}
		return true;
	}
	for (; p < end && *p >= '0' && *p <= '9'; p++)
		if (add_digit(out, (unsigned)(*p - '0'))) {
			*out = UINT64_MAX;
			return false;
		}
	return bytes && p == end;
}
