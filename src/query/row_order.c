#include "query/row_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define STOP_EVERY 4096u /* rows between two checks of the time limit */

/* What is known while the rows are read: values by a hash of what they are. */
struct builder {
	struct row_order *order;
	size_t value_cap, row_cap;
	uint32_t *slots;    /* number of a value + 1; 0: free */
	size_t slot_count;  /* a power of two */
	uint32_t *value_of; /* by row */
	size_t value_of_cap;
};

bool row_order_is_possible(const struct table *t, size_t column)
{
	return table_can_seek(t) && table_column_find(t, "id") < t->column_count &&
	       t->columns[column].type != COLUMN_REAL;
}

static uint64_t hash_of(const struct cell *c)
{
	uint64_t h = 0xcbf29ce484222325u;

	if (c->kind == CELL_INTEGER)
		return (uint64_t)c->integer * 0x9e3779b97f4a7c15u;
	if (c->kind != CELL_TEXT)
		return 0;
	for (const char *s = c->text; *s; s++)
		h = (h ^ (uint8_t)*s) * 0x100000001b3u;
	return h * 0x9e3779b97f4a7c15u;
}

static bool is_value(const struct order_value *v, const struct cell *c)
{
	switch (c->kind) {
	case CELL_INTEGER:
		return !v->is_null && !v->text && v->integer == c->integer;
	case CELL_TEXT:
		return v->text && !strcmp(v->text, c->text);
	default:
		return v->is_null;
	}
}

static int grow_slots(struct builder *b)
{
	size_t count = b->slot_count ? 2 * b->slot_count : 256;
	uint32_t *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return -1;
	for (size_t i = 0; i < b->slot_count; i++) {
		const struct order_value *v;
		struct cell c = { .kind = CELL_NULL };
		size_t at;

		if (!b->slots[i])
			continue;
		v = &b->order->values[b->slots[i] - 1];
		if (!v->is_null)
			c = (struct cell){ .kind = v->text ? CELL_TEXT : CELL_INTEGER,
					   .integer = v->integer,
					   .text = v->text };
		for (at = (hash_of(&c) >> 32) & (count - 1); slots[at];)
			at = (at + 1) & (count - 1);
		slots[at] = b->slots[i];
	}
	free(b->slots);
	b->slots = slots;
	b->slot_count = count;
	return 0;
}

static int add_value(struct builder *b, const struct cell *c)
{
	struct row_order *o = b->order;
	struct order_value *grown =
		array_grow(o->values, &b->value_cap, o->value_count + 1, sizeof(*grown));
	char *text = NULL;

	if (!grown)
		return -1;
	o->values = grown;
	if (c->kind == CELL_TEXT) {
		size_t n = strlen(c->text) + 1;

		text = arena_alloc(&o->texts, n);
		if (!text)
			return -1;
		memcpy(text, c->text, n);
	}
	grown[o->value_count++] = (struct order_value){ .text = text,
							.integer = c->integer,
							.is_null = c->kind == CELL_NULL };
	return 0;
}

/* Its number; UINT32_MAX: no memory. */
static uint32_t find_value(struct builder *b, const struct cell *c)
{
	size_t at;

	if (2 * b->order->value_count >= b->slot_count && grow_slots(b))
		return UINT32_MAX;
	for (at = (hash_of(c) >> 32) & (b->slot_count - 1); b->slots[at];
	     at = (at + 1) & (b->slot_count - 1))
		if (is_value(&b->order->values[b->slots[at] - 1], c))
			return b->slots[at] - 1;
	if (b->order->value_count == UINT32_MAX - 1 || add_value(b, c))
		return UINT32_MAX;
	b->slots[at] = (uint32_t)b->order->value_count;
	return b->slots[at] - 1;
}

static int add_row(struct builder *b, const struct cell *value, int64_t id)
{
	struct row_order *o = b->order;
	int64_t *ids = array_grow(o->ids, &b->row_cap, o->row_count + 1, sizeof(*ids));
	uint32_t *values;
	uint32_t number;

	if (!ids)
		return -1;
	o->ids = ids;
	values = array_grow(b->value_of, &b->value_of_cap, o->row_count + 1, sizeof(*values));
	if (!values)
		return -1;
	b->value_of = values;
	number = find_value(b, value);
	if (number == UINT32_MAX)
		return -1;
	values[o->row_count] = number;
	ids[o->row_count++] = id;
	o->values[number].count++;
	return 0;
}

static int read_rows(struct builder *b, const struct table *t, struct table_source *s,
		     bool (*stop)(void *ctx), void *ctx, struct err *err)
{
	size_t id_column = table_column_find(t, "id");
	struct table_cursor *c;
	struct cell value, id;
	int rc;

	if (table_open(&c, t, s, err))
		return -1;
	while ((rc = table_next(c, err)) > 0) {
		if (b->order->row_count % STOP_EVERY == 0 && stop(ctx)) {
			rc = err_set(err, "stopped");
			break;
		}
		table_cell(c, id_column, &id);
		table_cell(c, b->order->column, &value);
		if (add_row(b, &value, id.integer)) {
			rc = err_set(err, "out of memory");
			break;
		}
	}
	table_close(c);
	return rc;
}

static int compare_values(const struct order_value *x, const struct order_value *y)
{
	if (x->is_null || y->is_null)
		return y->is_null - x->is_null;
	if (x->text && y->text)
		return strcmp(x->text, y->text);
	if (!x->text != !y->text)
		return x->text ? 1 : -1; /* SQLite: numbers before texts */
	return (x->integer > y->integer) - (x->integer < y->integer);
}

struct ranked {
	const struct order_value *value;
};

static int by_value(const void *a, const void *b)
{
	return compare_values(((const struct ranked *)a)->value, ((const struct ranked *)b)->value);
}

/* Values and rows into order: the rows of a value stay as they came. */
static int sort_rows(struct builder *b)
{
	struct row_order *o = b->order;
	struct ranked *ranked = calloc(o->value_count + 1, sizeof(*ranked));
	struct order_value *values = calloc(o->value_count + 1, sizeof(*values));
	uint32_t *rank_of = calloc(o->value_count + 1, sizeof(*rank_of));
	int64_t *ids = calloc(o->row_count ? o->row_count : 1, sizeof(*ids));
	size_t first = 0;

	if (!ranked || !values || !rank_of || !ids) {
		free(ranked);
		free(values);
		free(rank_of);
		free(ids);
		return -1;
	}
	for (size_t i = 0; i < o->value_count; i++)
		ranked[i].value = &o->values[i];
	if (o->value_count)
		qsort(ranked, o->value_count, sizeof(*ranked), by_value);
	for (size_t i = 0; i < o->value_count; i++) {
		rank_of[ranked[i].value - o->values] = (uint32_t)i;
		values[i] = *ranked[i].value;
		values[i].first = first;
		first += values[i].count;
		values[i].count = 0;
	}
	for (size_t i = 0; i < o->row_count; i++) {
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a row has a value */
		struct order_value *v = &values[rank_of[b->value_of[i]]];

		ids[v->first + v->count++] = o->ids[i];
	}
	free(o->values);
	free(o->ids);
	free(ranked);
	free(rank_of);
	o->values = values;
	o->ids = ids;
	return 0;
}

int row_order_init(struct row_order *o, const struct table *t, size_t column,
		   struct table_source *s, bool (*stop)(void *ctx), void *ctx, struct err *err)
{
	struct builder b = { .order = o };
	int rc;

	*o = (struct row_order){ .column = column };
	arena_init(&o->texts);
	rc = read_rows(&b, t, s, stop, ctx, err);
	if (!rc && sort_rows(&b))
		rc = err_set(err, "out of memory");
	free(b.slots);
	free(b.value_of);
	return rc;
}

void row_order_release(struct row_order *o)
{
	free(o->ids);
	free(o->values);
	arena_release(&o->texts);
	*o = (struct row_order){ 0 };
}

static const struct order_value *find(const struct row_order *o, const struct order_value *wanted)
{
	size_t at = 0;

	BISECT(at, o->value_count, compare_values(&o->values[at], wanted) < 0);
	return at < o->value_count && !compare_values(&o->values[at], wanted) ? &o->values[at]
									      : NULL;
}

const struct order_value *row_order_find_integer(const struct row_order *o, int64_t value)
{
	const struct order_value wanted = { .integer = value };

	return find(o, &wanted);
}

const struct order_value *row_order_find_text(const struct row_order *o, const char *text)
{
	const struct order_value wanted = { .text = text };

	return find(o, &wanted);
}
