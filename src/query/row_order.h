/*
 * The rows of a table in the order of a column: for equality and for GROUP BY and ORDER BY, which
 * else sort all rows as text.  Values that are the same are kept once; a row costs 12 bytes.
 *
 * Made in one pass over a table whose rows can be reached by their id.
 */
#ifndef QUERY_ROW_ORDER_H
#define QUERY_ROW_ORDER_H

#include "base/arena.h"
#include "tables/table.h"

struct order_value {
	const char *text; /* NULL: of a column of integers, or NULL itself */
	int64_t integer;
	bool is_null;
	size_t first; /* of its rows, in ids */
	size_t count;
};

struct row_order {
	size_t column;
	size_t row_count;
	int64_t *ids;
	size_t value_count;
	struct order_value *values; /* NULL first, then as SQLite compares them (BINARY) */
	struct arena texts;
};

/* Can the order of this column be made: of integers or text, in a table with ids? */
bool row_order_is_possible(const struct table *t, size_t column);

/* stop is asked now and then; true ends the pass.  -1: text set; release it nevertheless. */
int row_order_init(struct row_order *o, const struct table *t, size_t column,
		   struct table_source *s, bool (*stop)(void *ctx), void *ctx, struct err *err);
void row_order_release(struct row_order *o);

/* NULL: no row has it. */
const struct order_value *row_order_find_integer(const struct row_order *o, int64_t value);
const struct order_value *row_order_find_text(const struct row_order *o, const char *text);

#endif
