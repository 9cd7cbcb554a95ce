#include "agent/python/call_stacks.h"

#include <stdbool.h>
#include <stddef.h>

/* What an entry of 3.11 begins with: 1, four bits of enum form, code units - 1 in three bits. */
enum form {
	FORM_ONE_LINE = 10, /* ... to 12: the line moves by form - 10; two bytes of columns */
	FORM_NO_COLUMNS = 13,
	FORM_LONG = 14,
	FORM_NONE = 15,
};

#define UNIT_BYTES 2u /* of an instruction */

struct reader {
	const uint8_t *at, *end;
	bool broken;
};

static uint8_t next_byte(struct reader *r)
{
	if (r->at == r->end) {
		r->broken = true;
		return 0;
	}
	return *r->at++;
}

/* Six bits to a byte, the lowest first; bit 6: more follow. */
static uint32_t next_varint(struct reader *r)
{
	uint32_t value = 0, byte = 64;

	for (uint32_t shift = 0; byte & 64 && shift < 30; shift += 6) {
		byte = next_byte(r);
		value |= (byte & 63) << shift;
	}
	return value;
}

/* By how many lines the entry moves; its columns are skipped. */
static int64_t next_line_delta(struct reader *r, uint32_t form)
{
	int64_t delta = 0;
	uint32_t word;

	if (form == FORM_NO_COLUMNS || form == FORM_LONG) {
		word = next_varint(r);
		delta = word & 1 ? -(int64_t)(word >> 1) : (int64_t)(word >> 1);
	} else if (form >= FORM_ONE_LINE) {
		delta = (int64_t)form - FORM_ONE_LINE;
		next_byte(r);
		next_byte(r);
	} else {
		next_byte(r);
	}
	for (int i = 0; form == FORM_LONG && i < 3; i++)
		next_varint(r);
	return delta;
}

/* Instructions in a row that belong to one line, or to none. */
struct run {
	uint32_t bytes;
	int64_t line;
	bool has_line;
};

struct writer {
	uint8_t *out;
	uint32_t at, max;
	int64_t line; /* so far */
};

/* A program can give a code object any table: one of a few bytes may move by gigalines. */
static bool is_full(const struct writer *w)
{
	return w->at > w->max;
}

/* 3.10: bytes of instructions, lines to move before them; NO_LINE: they have none. */
#define NO_LINE (-128)
#define RUN_MAX 254u

static void put(struct writer *w, uint32_t bytes, int64_t lines)
{
	if (w->at + 2 <= w->max) {
		w->out[w->at] = (uint8_t)bytes;
		w->out[w->at + 1] = (uint8_t)lines;
	}
	w->at += 2;
}

static void put_run(struct writer *w, struct run run)
{
	int64_t lines = run.has_line ? run.line - w->line : NO_LINE;

	for (; run.has_line && lines > 127 && !is_full(w); lines -= 127)
		put(w, 0, 127);
	for (; run.has_line && lines < -127 && !is_full(w); lines += 127)
		put(w, 0, -127);
	while (run.bytes && !is_full(w)) {
		uint32_t bytes = run.bytes < RUN_MAX ? run.bytes : RUN_MAX;

		put(w, bytes, lines);
		run.bytes -= bytes;
		lines = run.has_line ? 0 : NO_LINE;
	}
	if (run.has_line)
		w->line = run.line;
}

uint32_t line_pack(uint8_t *out, uint32_t max, const uint8_t *table, uint32_t bytes)
{
	struct reader r = { table, table + bytes, false };
	struct writer w = { NULL, 0, max, 0 };
	struct run run = { 0, 0, true };
	int64_t line = 0;

	w.out = out;
	while (r.at < r.end && !r.broken && !is_full(&w)) {
		uint8_t first = next_byte(&r);
		uint32_t form = first >> 3 & 15u;
		bool has_line = form != FORM_NONE;

		if (has_line)
			line += next_line_delta(&r, form);
		if (has_line != run.has_line || (has_line && line != run.line)) {
			put_run(&w, run);
			run = (struct run){ 0, line, has_line };
		}
		run.bytes += UNIT_BYTES * ((first & 7u) + 1);
	}
	put_run(&w, run);
	return r.broken || is_full(&w) ? 0 : w.at;
}
