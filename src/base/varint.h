/*
 * Variable-length integers: seven bits a byte, least significant first, high
 * bit set on all but the last byte (LEB128).  Signed values are zigzag coded.
 * Header only: the agent uses it too and links nothing of base/.
 */
#ifndef BASE_VARINT_H
#define BASE_VARINT_H

#include <stddef.h>
#include <stdint.h>

#define VARINT_MAX 10 /* bytes a 64-bit value can take */

/* Writes at most VARINT_MAX bytes; returns how many. */
static inline size_t varint_put(uint8_t *out, uint64_t value)
{
	size_t n = 0;

	while (value >= 0x80) {
		out[n++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	out[n++] = (uint8_t)value;
	return n;
}

/*
 * Reads one value from [p, end).  Returns the position behind it, or NULL when
 * the input ends inside it or it does not fit 64 bits.
 */
static inline const uint8_t *varint_get(const uint8_t *p, const uint8_t *end, uint64_t *value)
{
	uint64_t v = 0;
	unsigned shift = 0;

	while (p < end && shift < 64) {
		uint8_t byte = *p++;

		if (shift == 63 && byte > 1)
			return NULL;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*value = v;
			return p;
		}
		shift += 7;
	}
	return NULL;
}

static inline uint64_t zigzag(int64_t value)
{
	return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline int64_t unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

#endif
