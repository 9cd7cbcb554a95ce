#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

size_t utf8_sequence(const char *s, size_t n)
{
	const uint8_t *p = (const uint8_t *)s;
	uint8_t low = 0x80, high = 0xbf; /* of the second byte */
	size_t len;

	if (!n)
		return 0;
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (p[0] == 0xe0)
		low = 0xa0; /* below: overlong */
	else if (p[0] == 0xed)
		high = 0x9f; /* above: surrogates */
	else if (p[0] == 0xf0)
		low = 0x90; /* below: overlong */
	else if (p[0] == 0xf4)
		high = 0x8f; /* above: past U+10FFFF */
	if (n < len || p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	}
	return len;
}

uint32_t utf8_decode(const char *s, size_t len)
{
	const uint8_t *p = (const uint8_t *)s;
	uint32_t code = len > 1 ? p[0] & (0x7fu >> len) : p[0];

	for (size_t i = 1; i < len; i++)
		code = code << 6 | (p[i] & 0x3fu);
	return code;
}

bool utf8_is_control(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{ 0x00, 0x1f },     { 0x7f, 0x9f },     { 0x61c, 0x61c },     { 0x200e, 0x200f },
		{ 0x2028, 0x202e }, { 0x2066, 0x2069 }, { 0xe0000, 0xe007f },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	}
	return false;
}

size_t utf8_clean(char *out, const char *s, size_t n)
{
	char *to = out;

	for (size_t i = 0; i < n;) {
		size_t len = utf8_sequence(s + i, n - i);

		if (len && s[i]) {
			memcpy(to, s + i, len);
			to += len;
			i += len;
		} else {
			memcpy(to, UTF8_REPLACEMENT, 3);
			to += 3;
			i++;
		}
	}
	*to = '\0';
	return (size_t)(to - out);
}

size_t utf8_clean_bytes(const char *s, size_t n)
{
	size_t bytes = 0;

	for (size_t i = 0; i < n;) {
		size_t len = utf8_sequence(s + i, n - i);

		bytes += len && s[i] ? len : 3;
		i += len ? len : 1;
	}
	return bytes;
}
