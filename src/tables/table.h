/*
 * A trace as tables: rows and columns with names, types and units.  The one list of them
 * (table_list.c) serves `inferscope query`, the exports that are tables, and docs/TABLES.md.
 *
 * A table is read row by row through a cursor, and a cell is computed when it is asked for, so
 * that what nobody wants costs nothing.  Several cursors may be open at once, in one thread.
 */
#ifndef TABLES_TABLE_H
#define TABLES_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "format/trace.h"

enum column_type {
	COLUMN_INTEGER, /* 64 bits */
	COLUMN_REAL,    /* a double */
	COLUMN_TEXT,    /* UTF-8, without NUL */
	COLUMN_BOOLEAN, /* CELL_INTEGER, 0 or 1 */
};

const char *column_type_name(enum column_type t); /* "integer", ... */

struct column {
	const char *name;
	enum column_type type;
	const char *unit; /* "ns", "bytes"; "": none */
	const char *meaning;
};

enum cell_kind { CELL_NULL, CELL_INTEGER, CELL_REAL, CELL_TEXT };

struct cell {
	enum cell_kind kind;
	int64_t integer;
	double real;
	const char *text; /* valid until the next table_cell() or table_next() of its cursor */
};

struct table_source;
struct table_cursor;

/* What a table is made of: see table_cursor.h for how to write one. */
struct table {
	const char *name;
	const char *meaning; /* of a row */
	const struct column *columns;
	size_t column_count;
	const char *indexes; /* columns to find rows by, separated by blanks; "": none */
	size_t cursor_bytes; /* a struct that begins with struct table_cursor */
	int (*open)(struct table_cursor *c, struct err *err);
	int (*next)(struct table_cursor *c, struct err *err);
	/* NULL where rows cannot be reached but in order. */
	bool (*seek)(struct table_cursor *c, int64_t id);
	void (*cell)(struct table_cursor *c, size_t column, struct cell *out);
	void (*close)(struct table_cursor *c); /* may be NULL */
};

/* All of them; NULL past the last, or where there is none of that name. */
const struct table *table_at(size_t i);
const struct table *table_find(const char *name);
size_t table_column_find(const struct table *t, const char *name); /* column_count: none */

/*
 * What the tables of one trace share, each made when the first table needs it: links of the GPU,
 * the analysis.  The trace is borrowed and must outlive the source, the source its cursors.
 */
int table_source_new(struct table_source **out, const struct trace *t, struct err *err);
void table_source_free(struct table_source *s); /* NULL is a no-op */

/* A cursor before the first row. */
int table_open(struct table_cursor **out, const struct table *t, struct table_source *s,
	       struct err *err);
int table_next(struct table_cursor *c, struct err *err); /* 1: a row; 0: the end; -1 */

/* Can the row with an id be reached at once?  True of tables with a column `id` mostly. */
bool table_can_seek(const struct table *t);
bool table_seek(struct table_cursor *c, int64_t id); /* false: there is none */

void table_cell(struct table_cursor *c, size_t column, struct cell *out);
void table_close(struct table_cursor *c); /* NULL is a no-op */

/* docs/TABLES.md. */
void tables_document(struct buf *out);

#endif
