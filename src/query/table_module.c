/*
 * Tables as SQLite's virtual tables.  A module for each, eponymous: the table is there under the
 * module's name without being created, so the statement needs no right to create anything.
 *
 * Plans, the best first: one row by its id; the rows of one value of a column, and all rows in the
 * order of a column, both by a row_order that is made when first needed; all rows as they come.
 */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "query/query.h"
#include "query/row_order.h"

#define SMALL_ROWS 100 /* of tables that are lists of threads, kinds, findings */
#define STOP_EVERY 4096u

enum plan { PLAN_SCAN, PLAN_ID, PLAN_EQUAL, PLAN_ORDER, PLANS };

/* idxNum: the plan, whether it goes backwards, and the column. */
#define IDX(plan, backwards, column) ((int)(plan) | (int)(backwards) << 2 | (int)(column) << 3)
#define IDX_PLAN(idx) ((enum plan)((idx)&3))
#define IDX_BACKWARDS(idx) ((idx) >> 2 & 1)
#define IDX_COLUMN(idx) ((size_t)(idx) >> 3)

struct module_table {
	sqlite3_vtab base;
	const struct table *table;
	struct table_modules *modules;
	size_t id_column;          /* column_count: it has none */
	struct row_order **orders; /* by column; NULL: not made yet */
};

struct module_cursor {
	sqlite3_vtab_cursor base;
	struct table_cursor *rows;
	enum plan plan;
	bool end;
	sqlite3_int64 number; /* of the row, from 1 on */
	const int64_t *ids;   /* of PLAN_EQUAL and PLAN_ORDER */
	size_t id_count, at;  /* at: behind the row */
	bool backwards;
};

struct module_context {
	const struct table *table;
	struct table_modules *modules;
};

static struct module_table *table_of(sqlite3_vtab *base)
{
	return (struct module_table *)base;
}

static bool is_stopped(void *ctx)
{
	const struct table_modules *m = ctx;

	return m->limits->stop && *m->limits->stop;
}

/* A table that could not be read: the caller of the query gets the text. */
static int fail(struct module_table *t, const struct err *err)
{
	if (t->modules->err && err != t->modules->err)
		*t->modules->err = *err;
	if (is_stopped(t->modules))
		return SQLITE_INTERRUPT;
	return err_is_memory(err) ? SQLITE_NOMEM : SQLITE_ERROR;
}

/*
 * Eponymous tables are connected on first use, and their columns are declared to SQLite then.
 */
static int connect(sqlite3 *db, void *ctx, int argc, const char *const *argv, sqlite3_vtab **out,
		   char **text)
{
	static const char *const types[] = {
		[COLUMN_INTEGER] = "INTEGER",
		[COLUMN_REAL] = "REAL",
		[COLUMN_TEXT] = "TEXT",
		[COLUMN_BOOLEAN] = "INTEGER",
	};
	const struct module_context *c = ctx;
	struct module_table *t = calloc(1, sizeof(*t));
	struct buf sql;
	int rc = SQLITE_NOMEM;

	(void)argc;
	(void)argv;
	buf_init(&sql);
	buf_add_str(&sql, "CREATE TABLE t(");
	for (size_t i = 0; i < c->table->column_count; i++)
		buf_printf(&sql, "%s\"%s\" %s", i ? "," : "", c->table->columns[i].name,
			   types[c->table->columns[i].type]);
	buf_add_byte(&sql, ')');
	if (t) {
		t->table = c->table;
		t->modules = c->modules;
		t->id_column = table_column_find(c->table, "id");
		/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
		t->orders = calloc(c->table->column_count, sizeof(*t->orders));
	}
	if (t && t->orders && !sql.failed) {
		c->modules->declaring = true; /* the authorizer is asked about this as well */
		rc = sqlite3_declare_vtab(db, buf_string(&sql));
		c->modules->declaring = false;
	}
	buf_release(&sql);
	if (rc != SQLITE_OK) {
		*text = sqlite3_mprintf("%s", sqlite3_errmsg(db));
		if (t)
			free(t->orders);
		free(t);
		return rc;
	}
	*out = &t->base;
	return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *base)
{
	struct module_table *t = table_of(base);

	for (size_t i = 0; i < t->table->column_count; i++) {
		if (!t->orders[i])
			continue;
		row_order_release(t->orders[i]);
		free(t->orders[i]);
	}
	free(t->orders);
	free(t);
	return SQLITE_OK;
}

static bool is_large(const struct table *t)
{
	return table_can_seek(t) || table_column_find(t, "start_ns") < t->column_count ||
	       table_column_find(t, "time_ns") < t->column_count;
}

/* The constraint that helps most; -1: none does. */
static int choose_constraint(const struct module_table *t, sqlite3_index_info *info,
			     enum plan *plan)
{
	int best = -1;

	*plan = PLAN_SCAN;
	for (int i = 0; i < info->nConstraint; i++) {
		size_t column = (size_t)info->aConstraint[i].iColumn;

		if (!info->aConstraint[i].usable || info->aConstraint[i].iColumn < 0 ||
		    info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		if (column == t->id_column && table_can_seek(t->table)) {
			*plan = PLAN_ID;
			return i;
		}
		if (best < 0 && row_order_is_possible(t->table, column) &&
		    !sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY")) {
			*plan = PLAN_EQUAL;
			best = i;
		}
	}
	return best;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct module_table *t = table_of(base);
	double rows = is_large(t->table) ? t->modules->size_hint : SMALL_ROWS;
	enum plan plan;
	int chosen = choose_constraint(t, info, &plan);

	info->estimatedCost = rows;
	info->estimatedRows = (sqlite3_int64)rows;
	if (chosen >= 0) {
		info->aConstraintUsage[chosen].argvIndex = 1;
		info->idxNum = IDX(plan, false, info->aConstraint[chosen].iColumn);
		info->estimatedRows = plan == PLAN_ID ? 1 : (sqlite3_int64)(rows / 20) + 1;
		info->estimatedCost = (double)info->estimatedRows;
		if (plan == PLAN_ID)
			info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
	} else if (info->nOrderBy == 1 && info->aOrderBy[0].iColumn >= 0 &&
		   row_order_is_possible(t->table, (size_t)info->aOrderBy[0].iColumn)) {
		info->idxNum = IDX(PLAN_ORDER, info->aOrderBy[0].desc, info->aOrderBy[0].iColumn);
		info->orderByConsumed = 1;
	}
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	struct module_cursor *c = calloc(1, sizeof(*c));

	(void)base;
	if (!c)
		return SQLITE_NOMEM;
	*out = &c->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct module_cursor *c = (struct module_cursor *)base;

	table_close(c->rows);
	free(c);
	return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
	struct module_cursor *c = (struct module_cursor *)base;
	struct module_table *t = table_of(base->pVtab);
	struct err err;
	int rc;

	c->number++;
	if (c->number % STOP_EVERY == 0 && is_stopped(t->modules))
		return SQLITE_INTERRUPT;
	if (c->plan == PLAN_ID) {
		c->end = true;
		return SQLITE_OK;
	}
	if (c->plan == PLAN_EQUAL || c->plan == PLAN_ORDER) {
		c->end = c->at == c->id_count;
		if (!c->end) {
			size_t at = c->backwards ? c->id_count - 1 - c->at : c->at;

			table_seek(c->rows, c->ids[at]);
			c->at++;
		}
		return SQLITE_OK;
	}
	rc = table_next(c->rows, &err);
	if (rc < 0)
		return fail(t, &err);
	c->end = !rc;
	return SQLITE_OK;
}

/* Whether the value can be one of a column of integers, and which. */
static bool to_integer(sqlite3_value *value, int64_t *out)
{
	double real;

	switch (sqlite3_value_numeric_type(value)) {
	case SQLITE_INTEGER:
		*out = sqlite3_value_int64(value);
		return true;
	case SQLITE_FLOAT:
		real = sqlite3_value_double(value);
		if (!(real >= -9.2e18 && real <= 9.2e18))
			return false;
		*out = (int64_t)real;
		return (double)*out >= real && (double)*out <= real;
	default:
		return false;
	}
}

static int find_order(struct module_table *t, size_t column, const struct row_order **out)
{
	struct row_order *o = t->orders[column];
	struct err err;

	if (!o) {
		o = malloc(sizeof(*o));
		if (!o)
			return SQLITE_NOMEM;
		if (row_order_init(o, t->table, column, t->modules->source, is_stopped, t->modules,
				   &err)) {
			row_order_release(o);
			free(o);
			return fail(t, &err);
		}
		t->orders[column] = o;
	}
	*out = o;
	return SQLITE_OK;
}

static int begin_equal(struct module_cursor *c, struct module_table *t, size_t column,
		       sqlite3_value *value)
{
	const struct order_value *found = NULL;
	const struct row_order *o;
	int64_t integer;
	int rc = find_order(t, column, &o);

	if (rc != SQLITE_OK || sqlite3_value_type(value) == SQLITE_NULL)
		return rc;
	if (t->table->columns[column].type == COLUMN_TEXT)
		found = row_order_find_text(o, (const char *)sqlite3_value_text(value));
	else if (to_integer(value, &integer))
		found = row_order_find_integer(o, integer);
	if (found) {
		c->ids = o->ids + found->first;
		c->id_count = found->count;
	}
	return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int idx, const char *text, int argc,
		  sqlite3_value **argv)
{
	struct module_cursor *c = (struct module_cursor *)base;
	struct module_table *t = table_of(base->pVtab);
	const struct row_order *order;
	struct err err;
	int64_t id;
	int rc;

	(void)text;
	(void)argc;
	/* A cursor that only goes forward begins anew; one that is sought in may stay. */
	if (c->rows && IDX_PLAN(idx) == PLAN_SCAN) {
		table_close(c->rows);
		c->rows = NULL;
	}
	if (!c->rows && table_open(&c->rows, t->table, t->modules->source, &err)) {
		c->rows = NULL;
		return fail(t, &err);
	}
	c->plan = IDX_PLAN(idx);
	c->backwards = IDX_BACKWARDS(idx);
	c->number = 0;
	c->ids = NULL;
	c->id_count = c->at = 0;
	c->end = false;
	switch (c->plan) {
	case PLAN_ID:
		c->end = !to_integer(argv[0], &id) || !table_seek(c->rows, id);
		return SQLITE_OK;
	case PLAN_EQUAL:
		rc = begin_equal(c, t, IDX_COLUMN(idx), argv[0]);
		return rc == SQLITE_OK ? next(base) : rc;
	case PLAN_ORDER:
		rc = find_order(t, IDX_COLUMN(idx), &order);
		if (rc != SQLITE_OK)
			return rc;
		c->ids = order->ids;
		c->id_count = order->row_count;
		return next(base);
	default:
		return next(base);
	}
}

static int at_end(sqlite3_vtab_cursor *base)
{
	return ((struct module_cursor *)base)->end;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *out, int n)
{
	struct module_cursor *c = (struct module_cursor *)base;
	struct cell cell;

	table_cell(c->rows, (size_t)n, &cell);
	switch (cell.kind) {
	case CELL_INTEGER:
		sqlite3_result_int64(out, cell.integer);
		break;
	case CELL_REAL:
		sqlite3_result_double(out, cell.real);
		break;
	case CELL_TEXT:
		sqlite3_result_text(out, cell.text, -1, SQLITE_TRANSIENT);
		break;
	case CELL_NULL:
		sqlite3_result_null(out);
		break;
	}
	return SQLITE_OK;
}

static int row_number(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	struct module_cursor *c = (struct module_cursor *)base;
	struct module_table *t = table_of(base->pVtab);
	struct cell cell;

	*out = c->number;
	if (t->id_column < t->table->column_count && table_can_seek(t->table)) {
		table_cell(c->rows, t->id_column, &cell);
		*out = cell.integer;
	}
	return SQLITE_OK;
}

static const sqlite3_module module = {
	.iVersion = 1,
	.xConnect = connect,
	.xBestIndex = best_index,
	.xDisconnect = disconnect,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next,
	.xEof = at_end,
	.xColumn = column,
	.xRowid = row_number,
};

int table_modules_register(sqlite3 *db, struct table_modules *m, struct err *err)
{
	const struct table *t;

	for (size_t i = 0; (t = table_at(i)); i++) {
		struct module_context *c = malloc(sizeof(*c));

		if (!c)
			return err_set(err, "out of memory");
		*c = (struct module_context){ t, m };
		if (sqlite3_create_module_v2(db, t->name, &module, c, free))
			return err_set(err, "SQLite: %s", sqlite3_errmsg(db));
	}
	return 0;
}
