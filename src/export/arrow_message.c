#include "export/arrow_message.h"

#include "export/flatbuffer.h"

enum { VERSION_V5 = 4 };
enum { HEADER_SCHEMA = 1, HEADER_RECORD_BATCH = 3 };
enum { TYPE_INT = 2, TYPE_FLOATING_POINT = 3, TYPE_UTF8 = 5, TYPE_BOOL = 6 };
enum { PRECISION_DOUBLE = 2 };
enum { CODEC_ZSTD = 1, METHOD_BUFFER = 0 };

static void add_pair(struct buf *out, const char *key, const char *value)
{
	enum { KEY, VALUE };
	size_t pair = flat_table(out, 2, (const uint8_t[]){ 4, 4 });

	flat_link(out, pair, KEY);
	flat_string(out, key);
	flat_link(out, pair, VALUE);
	flat_string(out, value);
}

static void add_type(struct buf *out, enum column_type type)
{
	size_t at;

	switch (type) {
	case COLUMN_INTEGER: /* bitWidth, is_signed */
		at = flat_table(out, 2, (const uint8_t[]){ 4, 1 });
		flat_set(out, at, 0, 4, 64);
		flat_set(out, at, 1, 1, 1);
		break;
	case COLUMN_REAL: /* precision */
		at = flat_table(out, 1, (const uint8_t[]){ 2 });
		flat_set(out, at, 0, 2, PRECISION_DOUBLE);
		break;
	case COLUMN_TEXT:
	case COLUMN_BOOLEAN:
		flat_table(out, 0, NULL);
		break;
	}
}

static void add_field(struct buf *out, const struct column *c)
{
	enum { NAME, NULLABLE, TYPE_TYPE, TYPE, DICTIONARY, CHILDREN, METADATA };
	static const uint8_t types[] = {
		[COLUMN_INTEGER] = TYPE_INT,
		[COLUMN_REAL] = TYPE_FLOATING_POINT,
		[COLUMN_TEXT] = TYPE_UTF8,
		[COLUMN_BOOLEAN] = TYPE_BOOL,
	};
	size_t field = flat_table(out, 7, (const uint8_t[]){ 4, 1, 1, 4, 0, 4, 4 }), list;
	bool has_unit = *c->unit;

	flat_set(out, field, NULLABLE, 1, 1);
	flat_set(out, field, TYPE_TYPE, 1, types[c->type]);
	flat_link(out, field, NAME);
	flat_string(out, c->name);
	flat_link(out, field, TYPE);
	add_type(out, c->type);
	flat_link(out, field, CHILDREN);
	flat_vector(out, 0);
	flat_link(out, field, METADATA);
	list = flat_vector(out, 1 + has_unit);
	flat_link_item(out, list, 0);
	add_pair(out, "meaning", c->meaning);
	if (has_unit) {
		flat_link_item(out, list, 1);
		add_pair(out, "unit", c->unit);
	}
}

static void add_schema(struct buf *out, const struct table *t)
{
	enum { ENDIANNESS, FIELDS, METADATA };
	size_t schema = flat_table(out, 3, (const uint8_t[]){ 2, 4, 4 }), list;

	flat_link(out, schema, FIELDS);
	list = flat_vector(out, t->column_count);
	for (size_t i = 0; i < t->column_count; i++) {
		flat_link_item(out, list, i);
		add_field(out, &t->columns[i]);
	}
	flat_link(out, schema, METADATA);
	list = flat_vector(out, 2);
	flat_link_item(out, list, 0);
	add_pair(out, "table", t->name);
	flat_link_item(out, list, 1);
	add_pair(out, "row", t->meaning);
}

/* Its header is to be written next. */
static void begin_message(struct buf *out, int header, int64_t body_bytes)
{
	enum { VERSION, HEADER_TYPE, HEADER, BODY_LENGTH };
	size_t message;

	flat_begin(out);
	message = flat_table(out, 4, (const uint8_t[]){ 2, 1, 4, 8 });
	flat_set(out, message, VERSION, 2, VERSION_V5);
	flat_set(out, message, HEADER_TYPE, 1, header);
	flat_set(out, message, BODY_LENGTH, 8, body_bytes);
	flat_link(out, message, HEADER);
}

void arrow_schema_message(struct buf *out, const struct table *t)
{
	begin_message(out, HEADER_SCHEMA, 0);
	add_schema(out, t);
	flat_align(out, 8);
}

void arrow_batch_message(struct buf *out, const struct table *t, int64_t rows,
			 const struct arrow_column *columns, int64_t body_bytes)
{
	enum { LENGTH, NODES, BUFFERS, COMPRESSION };
	enum { CODEC, METHOD };
	size_t batch, at, buffers = 0;

	begin_message(out, HEADER_RECORD_BATCH, body_bytes);
	batch = flat_table(out, 4, (const uint8_t[]){ 8, 4, 4, 4 });
	flat_set(out, batch, LENGTH, 8, rows);
	at = flat_link_structs(out, batch, NODES, t->column_count, 16) + 4;
	for (size_t i = 0; i < t->column_count; i++, at += 16) {
		flat_put(out, at, (uint64_t)rows, 8);
		flat_put(out, at + 8, (uint64_t)columns[i].null_count, 8);
		buffers += columns[i].buffer_count;
	}
	at = flat_link_structs(out, batch, BUFFERS, buffers, 16) + 4;
	for (size_t i = 0; i < t->column_count; i++) {
		for (size_t k = 0; k < columns[i].buffer_count; k++, at += 16) {
			flat_put(out, at, (uint64_t)columns[i].buffers[k].offset, 8);
			flat_put(out, at + 8, (uint64_t)columns[i].buffers[k].bytes, 8);
		}
	}
	flat_link(out, batch, COMPRESSION);
	at = flat_table(out, 2, (const uint8_t[]){ 1, 1 });
	flat_set(out, at, CODEC, 1, CODEC_ZSTD);
	flat_set(out, at, METHOD, 1, METHOD_BUFFER);
	flat_align(out, 8);
}

void arrow_footer(struct buf *out, const struct table *t, const struct arrow_block *blocks,
		  size_t count)
{
	enum { VERSION, SCHEMA, DICTIONARIES, BATCHES };
	size_t footer, at;

	flat_begin(out);
	footer = flat_table(out, 4, (const uint8_t[]){ 2, 4, 4, 4 });
	flat_set(out, footer, VERSION, 2, VERSION_V5);
	flat_link(out, footer, SCHEMA);
	add_schema(out, t);
	flat_link_structs(out, footer, DICTIONARIES, 0, 24);
	at = flat_link_structs(out, footer, BATCHES, count, 24) + 4;
	for (size_t i = 0; i < count; i++, at += 24) {
		flat_put(out, at, (uint64_t)blocks[i].offset, 8);
		flat_put(out, at + 8, (uint64_t)(int64_t)blocks[i].metadata_bytes, 4);
		flat_put(out, at + 16, (uint64_t)blocks[i].body_bytes, 8);
	}
	flat_align(out, 8);
}
