#include "capture/sampler/py_codes.h"

#include <stdlib.h>
#include <string.h>

#include "base/varint.h"
#include "format/record.h"

#define CODE_BYTES 160u /* no field of a code object that we read lies behind */
#define NAME_MAX_BYTES 2000u
#define FILE_MAX_BYTES 4096u
#define FIRST_SLOTS 1024u
#define SLOTS_MAX (1u << 20)
#define BELIEVE_NS 100000000 /* an address is checked again after this long */

struct py_code {
	uint64_t address; /* 0: a free slot */
	uint64_t fields;  /* what the object said of itself, hashed */
	int64_t seen_ns;
	uint32_t id; /* 0: no code object */
};

void py_codes_init(struct py_codes *c)
{
	memset(c, 0, sizeof(*c));
}

void py_codes_release(struct py_codes *c)
{
	free(c->items);
	py_codes_init(c);
}

static uint64_t mix(uint64_t h)
{
	h ^= h >> 32;
	h *= 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

static struct py_code *slot_of(struct py_code *items, size_t cap, uint64_t address)
{
	size_t at = (size_t)mix(address >> 4) & (cap - 1);

	while (items[at].address && items[at].address != address)
		at = (at + 1) & (cap - 1);
	return &items[at];
}

static int grow(struct py_codes *c)
{
	size_t cap = c->cap ? 2 * c->cap : FIRST_SLOTS;
	struct py_code *items;

	if (cap > SLOTS_MAX) { /* a program that makes functions without end: start again */
		memset(c->items, 0, c->cap * sizeof(*c->items));
		c->count = 0;
		return 0;
	}
	items = calloc(cap, sizeof(*items));
	if (!items)
		return -1;
	for (size_t i = 0; i < c->cap; i++) {
		if (c->items[i].address)
			*slot_of(items, cap, c->items[i].address) = c->items[i];
	}
	free(c->items);
	c->items = items;
	c->cap = cap;
	return 0;
}

/* 0: no code object. */
static uint64_t hash_fields(const struct py_process *p, const uint8_t *code)
{
	const struct py_layout *l = p->layout;
	uint64_t h;

	if (remote_word(code, PY_OBJECT_TYPE) != p->where.code_type)
		return 0;
	h = mix(remote_word(code, l->name));
	h = mix(h ^ remote_word(code, l->file));
	h = mix(h ^ remote_word(code, l->line_table));
	h = mix(h ^ (uint32_t)remote_word(code, l->first_line));
	return h | 1;
}

static size_t put_utf8(uint8_t *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (uint8_t)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (uint8_t)(0xc0 | c >> 6);
		to[1] = (uint8_t)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (uint8_t)(0xe0 | c >> 12);
		to[1] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
		to[2] = (uint8_t)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (uint8_t)(0xf0 | (c >> 18 & 7));
	to[1] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
	to[2] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
	to[3] = (uint8_t)(0x80 | (c & 0x3f));
	return 4;
}

/* A str as UTF-8, at most `max` bytes of it; returns how many, 0 where it cannot be read. */
static size_t read_text(const struct py_process *p, uint64_t at, uint8_t *to, size_t max)
{
	uint8_t head[40], raw[4 * FILE_MAX_BYTES];
	uint32_t state;
	uint64_t length;
	unsigned kind;
	size_t n = 0;

	if (remote_copy(&p->memory, head, at, sizeof(head)))
		return 0;
	state = (uint32_t)remote_word(head, PY_TEXT_STATE);
	length = remote_word(head, PY_TEXT_LENGTH);
	kind = py_text_kind(state);
	if (!py_text_is_compact(state) || (kind != 1 && kind != 2 && kind != 4))
		return 0;
	if (length > max)
		length = max;
	at += py_text_is_ascii(state) ? p->layout->text : p->layout->wide_text;
	if (remote_copy(&p->memory, raw, at, length * kind))
		return 0;
	for (uint64_t i = 0; i < length && n + 4 <= max; i++) {
		uint32_t c = 0;

		memcpy(&c, raw + i * kind, kind);
		n += put_utf8(to + n, c);
	}
	return n;
}

/* A table that does not fit is omitted: without it the function's first line is shown. */
static void define_lines(const struct py_process *p, uint64_t at, uint32_t id,
			 const struct py_definitions *d)
{
	uint8_t head[PY_BYTES_DATA], payload[DEF_PAYLOAD_MAX];
	uint64_t bytes;

	if (remote_copy(&p->memory, head, at, sizeof(head)))
		return;
	bytes = remote_word(head, PY_BYTES_LENGTH);
	if (bytes > sizeof(payload) - 1 ||
	    remote_copy(&p->memory, payload + 1, at + PY_BYTES_DATA, bytes))
		return;
	payload[0] = (uint8_t)p->layout->version; /* the minor one; below 128, so a varint */
	d->define(d->context, DEF_LINES, id, payload, bytes + 1);
}

static uint32_t define(const struct py_process *p, const uint8_t *code,
		       const struct py_definitions *d)
{
	const struct py_layout *l = p->layout;
	uint8_t name[NAME_MAX_BYTES], payload[2 * VARINT_MAX + NAME_MAX_BYTES + FILE_MAX_BYTES];
	int32_t line = (int32_t)remote_word(code, l->first_line);
	size_t name_bytes = read_text(p, remote_word(code, l->name), name, sizeof(name)), n;
	uint32_t id;

	if (!name_bytes)
		return 0;
	n = varint_put(payload, line > 0 ? (uint64_t)line : 0);
	n += varint_put(payload + n, name_bytes);
	memcpy(payload + n, name, name_bytes);
	n += name_bytes;
	n += read_text(p, remote_word(code, l->file), payload + n, FILE_MAX_BYTES);
	id = d->next_id(d->context);
	d->define(d->context, DEF_CODE, id, payload, n);
	define_lines(p, remote_word(code, l->line_table), id, d);
	return id;
}

/* Reads what is at the address; a slot that knew it already keeps its id. */
static void read_code(struct py_code *slot, const struct py_process *p, int64_t now_ns,
		      const struct py_definitions *d)
{
	uint8_t code[CODE_BYTES];
	uint64_t fields = 0;

	if (!remote_copy(&p->memory, code, slot->address, sizeof(code)))
		fields = hash_fields(p, code);
	if (!fields)
		slot->id = 0;
	else if (fields != slot->fields || !slot->id)
		slot->id = define(p, code, d);
	slot->fields = fields;
	slot->seen_ns = now_ns;
}

int py_codes_find(struct py_codes *c, const struct py_process *p, const struct py_stack *stack,
		  uint32_t ids[PY_STACK_FRAMES], int64_t now_ns, const struct py_definitions *d)
{
	for (size_t i = 0; i < stack->count; i++) {
		struct py_code *slot;

		if (2 * (c->count + 1) > c->cap && grow(c))
			return -1;
		slot = slot_of(c->items, c->cap, stack->frames[i].code);
		if (!slot->address) {
			slot->address = stack->frames[i].code;
			slot->seen_ns = now_ns - BELIEVE_NS - 1;
			c->count++;
		}
		if (now_ns - slot->seen_ns > BELIEVE_NS || !slot->id)
			read_code(slot, p, now_ns, d);
		ids[i] = slot->id;
	}
	return 0;
}
