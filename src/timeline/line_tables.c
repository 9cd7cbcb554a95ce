#include "timeline/line_tables.h"

/* Tables are any bytes: sums are kept where they cannot overflow, lines out of range are none. */
static uint32_t line_or_none(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* Pairs: bytes of code, signed lines.  The line changes behind the bytes. */
static uint32_t find_lnotab(const uint8_t *p, const uint8_t *end, int64_t line, uint32_t offset)
{
	uint64_t at = 0;

	for (; end - p >= 2; p += 2) {
		at += p[0];
		if (at > offset)
			break;
		line += (int8_t)p[1];
	}
	return line_or_none(line);
}

/* Pairs: signed lines change first and are those of the bytes; -128: these have no line. */
static uint32_t find_pep626(const uint8_t *p, const uint8_t *end, int64_t line, uint32_t offset)
{
	uint64_t at = 0;

	for (; end - p >= 2; p += 2) {
		int delta = p[1] < 128 ? p[1] : p[1] - 256;

		at += p[0];
		if (delta != -128)
			line += delta;
		if (at > offset)
			return delta != -128 ? line_or_none(line) : 0;
	}
	return 0;
}

/* Six bits a byte, least significant first, bit 6 set on all but the last; bit 0 is the sign. */
static int64_t signed_varint(const uint8_t *p, const uint8_t *end)
{
	uint64_t value = 0;

	for (unsigned shift = 0; p < end && shift < 36; shift += 6) {
		value |= (uint64_t)(*p & 0x3f) << shift;
		if (!(*p++ & 0x40))
			break;
	}
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/*
 * Entries: a byte 1CCCCLLL and more bytes without bit 7.  LLL + 1 units of two
 * bytes of code; CCCC says how the line is given, if at all.
 */
static uint32_t find_pep657(const uint8_t *p, const uint8_t *end, int64_t line, uint32_t offset)
{
	enum { ONE_LINE = 10, NO_COLUMNS = 13, LONG = 14, NO_LOCATION = 15 };
	uint64_t at = 0;

	while (p < end) {
		uint8_t head = *p++;
		int form = head >> 3 & 15;

		if (form == NO_COLUMNS || form == LONG)
			line += signed_varint(p, end);
		else if (form >= ONE_LINE && form < NO_COLUMNS)
			line += form - ONE_LINE;
		at += ((head & 7u) + 1) * UINT64_C(2);
		if (at > offset)
			return form != NO_LOCATION ? line_or_none(line) : 0;
		while (p < end && !(*p & 0x80))
			p++;
	}
	return 0;
}

uint32_t line_table_find(uint32_t python_minor, const uint8_t *table, size_t bytes,
			 uint32_t first_line, uint32_t offset)
{
	const uint8_t *end = table + bytes;

	if (python_minor < 8)
		return 0;
	if (python_minor < 10)
		return find_lnotab(table, end, first_line, offset);
	if (python_minor == 10)
		return find_pep626(table, end, first_line, offset);
	return find_pep657(table, end, first_line, offset);
}
