/* links: is_timeline is_agent_core */
/*
 * Line tables.  Odd inputs are any bytes, as a table of any version, read at
 * offsets all over it and packed.  Even ones are orders for a table that CPython
 * 3.11 could have made: packed in the format of 3.10 it must give every
 * instruction the line that it has in the original.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/python/call_stacks.h"
#include "timeline/line_tables.h"

#define TABLE_MAX 65536u
#define FIRST_LINE 1000u

static uint8_t packed[TABLE_MAX], made[TABLE_MAX];

static void require(int ok)
{
	if (!ok)
		abort();
}

static size_t put_varint(uint8_t *to, uint32_t value)
{
	size_t n = 0;

	for (; value > 63; value >>= 6)
		to[n++] = (uint8_t)((value & 63) | 64);
	to[n++] = (uint8_t)value;
	return n;
}

/* An entry of PEP 657 from three bytes. */
static size_t put_entry(uint8_t *to, const uint8_t *order, int32_t *line, uint32_t *code_bytes)
{
	uint8_t form = order[0] >> 3 & 15, units = order[0] & 7;
	int32_t delta = (int16_t)(order[1] | order[2] << 8);
	size_t n = 1;

	to[0] = (uint8_t)(0x80 | form << 3 | units);
	*code_bytes += 2 * (units + 1u);
	if (form == 13 || form == 14) {
		if (*line + delta < 1)
			delta = 0;
		*line += delta;
		n += put_varint(to + n,
				delta < 0 ? (uint32_t)-delta << 1 | 1 : (uint32_t)delta << 1);
		for (int i = 0; form == 14 && i < 3; i++)
			n += put_varint(to + n, order[1]);
	} else if (form >= 10 && form < 13) {
		*line += form - 10;
		to[n++] = order[1] & 127;
		to[n++] = order[2] & 127;
	} else if (form < 10) {
		to[n++] = order[1] & 127;
	}
	return n;
}

static void check_sound(const uint8_t *orders, size_t size)
{
	uint32_t code_bytes = 0, n;
	int32_t line = FIRST_LINE;
	size_t bytes = 0;

	for (; size >= 3 && bytes + 32 < 4096; orders += 3, size -= 3)
		bytes += put_entry(made + bytes, orders, &line, &code_bytes);
	n = line_pack(packed, sizeof(packed), made, (uint32_t)bytes);
	for (uint32_t offset = 0; n && offset < code_bytes; offset += 2)
		require(line_table_find(11, made, bytes, FIRST_LINE, offset) ==
			line_table_find(LINE_PACK_MINOR, packed, n, FIRST_LINE, offset));
}

static void check_any(const uint8_t *table, size_t bytes, uint32_t minor)
{
	/* In memory of exactly its size: a read behind it is seen. */
	uint8_t *copy = malloc(bytes + 1), *out;
	uint32_t room = (uint32_t)bytes & 255u, n;

	out = malloc(room + 1);
	require(copy && out);
	memcpy(copy, table, bytes);
	for (uint32_t offset = 0; offset < 4 * bytes; offset += 1 + offset / 16)
		line_table_find(minor, copy, bytes, FIRST_LINE, offset);
	line_table_find(minor, copy, bytes, UINT32_MAX, UINT32_MAX);
	n = line_pack(out, room, copy, (uint32_t)bytes);
	require(n <= room && n % 2 == 0);
	free(out);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size || size > TABLE_MAX)
		return 0;
	if (data[0] & 1)
		check_any(data + 1, size - 1, 7u + (data[0] >> 1) % 8);
	else
		check_sound(data + 1, size - 1);
	return 0;
}
