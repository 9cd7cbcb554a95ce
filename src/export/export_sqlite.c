/*
 * An SQLite database with the tables of src/tables, as docs/TABLES.md describes them: in one
 * transaction without a journal, because the file is thrown away when it is not complete.
 * Indexes are made when the rows are there.
 */
#include <sqlite3.h>
#include <string.h>

#include "export/export.h"
#include "tables/table.h"

#define APPLICATION_ID 0x49534350 /* "ISCP", as SQLite's own header has room for */
#define CACHE_KB 32768

struct database {
	sqlite3 *db;
	struct buf sql;
};

static int fail(struct database *d, int rc, struct err *err)
{
	if (rc == SQLITE_NOMEM || d->sql.failed)
		return err_set(err, "out of memory");
	return err_set(err, "cannot write the export: %s",
		       d->db ? sqlite3_errmsg(d->db) : sqlite3_errstr(rc));
}

/* What stands in d->sql; empties it. */
static int run(struct database *d, struct err *err)
{
	const char *text = buf_string(&d->sql);
	int rc = d->sql.failed ? SQLITE_NOMEM : sqlite3_exec(d->db, text, NULL, NULL, NULL);

	buf_clear(&d->sql);
	return rc == SQLITE_OK ? 0 : fail(d, rc, err);
}

/* Ids that we give are SQLite's own key: no index is needed for them. */
static const char *declared_type(const struct column *c)
{
	static const char *const types[] = {
		[COLUMN_INTEGER] = "INTEGER",
		[COLUMN_REAL] = "REAL",
		[COLUMN_TEXT] = "TEXT",
		[COLUMN_BOOLEAN] = "INTEGER",
	};

	return strcmp(c->name, "id") ? types[c->type] : "INTEGER PRIMARY KEY";
}

static int create_table(struct database *d, const struct table *t, struct err *err)
{
	buf_printf(&d->sql, "CREATE TABLE %s ( -- %s\n", t->name, t->meaning);
	for (size_t i = 0; i < t->column_count; i++) {
		const struct column *c = &t->columns[i];

		buf_printf(&d->sql, "\t\"%s\" %s%s -- %s%s%s\n", c->name, declared_type(c),
			   i + 1 < t->column_count ? "," : "", c->unit, *c->unit ? ": " : "",
			   c->meaning);
	}
	buf_add_str(&d->sql, ")");
	return run(d, err);
}

static int create_indexes(struct database *d, const struct table *t, struct err *err)
{
	const char *words = t->indexes;

	for (size_t n; *words; words += n + (words[n] == ' ')) {
		n = strcspn(words, " ");
		if (n == 2 && !memcmp(words, "id", n))
			continue;
		buf_printf(&d->sql, "CREATE INDEX %s_%.*s ON %s (\"%.*s\")", t->name, (int)n, words,
			   t->name, (int)n, words);
		if (run(d, err))
			return -1;
	}
	return 0;
}

static int bind(sqlite3_stmt *insert, int at, const struct cell *c)
{
	switch (c->kind) {
	case CELL_INTEGER:
		return sqlite3_bind_int64(insert, at, c->integer);
	case CELL_REAL:
		return sqlite3_bind_double(insert, at, c->real);
	case CELL_TEXT:
		return sqlite3_bind_text(insert, at, c->text, -1, SQLITE_TRANSIENT);
	case CELL_NULL:
		break;
	}
	return sqlite3_bind_null(insert, at);
}

static int insert_rows(struct database *d, struct table_cursor *c, const struct table *t,
		       sqlite3_stmt *insert, struct err *err)
{
	int more;

	while ((more = table_next(c, err)) > 0) {
		int rc = SQLITE_OK;

		for (size_t i = 0; i < t->column_count && rc == SQLITE_OK; i++) {
			struct cell cell;

			table_cell(c, i, &cell);
			rc = bind(insert, (int)i + 1, &cell);
		}
		if (rc == SQLITE_OK && sqlite3_step(insert) != SQLITE_DONE)
			rc = SQLITE_ERROR;
		sqlite3_reset(insert);
		if (rc != SQLITE_OK)
			return fail(d, sqlite3_errcode(d->db), err);
	}
	return more;
}

static int fill_table(struct database *d, struct table_source *s, const struct table *t,
		      struct err *err)
{
	struct table_cursor *c = NULL;
	sqlite3_stmt *insert = NULL;
	int rc;

	buf_printf(&d->sql, "INSERT INTO %s VALUES (?", t->name);
	for (size_t i = 1; i < t->column_count; i++)
		buf_add_str(&d->sql, ",?");
	buf_add_byte(&d->sql, ')');
	rc = sqlite3_prepare_v2(d->db, buf_string(&d->sql), -1, &insert, NULL);
	if (d->sql.failed || rc != SQLITE_OK)
		rc = fail(d, rc, err);
	else if (!table_open(&c, t, s, err))
		rc = insert_rows(d, c, t, insert, err);
	else
		rc = -1;
	buf_clear(&d->sql);
	table_close(c);
	sqlite3_finalize(insert);
	return rc;
}

static int begin(struct database *d, const char *path, struct err *err)
{
	int rc = sqlite3_open_v2(path, &d->db, SQLITE_OPEN_READWRITE, NULL);

	if (rc != SQLITE_OK)
		return fail(d, rc, err);
	buf_printf(&d->sql,
		   "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = "
		   "EXCLUSIVE; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -%d; "
		   "PRAGMA application_id = %d; BEGIN",
		   CACHE_KB, APPLICATION_ID);
	return run(d, err);
}

static bool is_wanted(const struct table *t, const char *name)
{
	return !name || !strcmp(t->name, name);
}

static int write_tables(struct database *d, const struct trace *t, const char *only,
			struct err *err)
{
	struct table_source *source;
	const struct table *table;
	int rc = 0;

	if (table_source_new(&source, t, err))
		return -1;
	for (size_t i = 0; (table = table_at(i)) && !rc; i++)
		if (is_wanted(table, only) &&
		    (create_table(d, table, err) || fill_table(d, source, table, err)))
			rc = -1;
	table_source_free(source);
	for (size_t i = 0; (table = table_at(i)) && !rc; i++)
		if (is_wanted(table, only))
			rc = create_indexes(d, table, err);
	return rc;
}

static int export_sqlite(const struct trace *t, const struct export_target *to, struct err *err)
{
	struct database d = { 0 };
	int rc;

	buf_init(&d.sql);
	rc = begin(&d, to->path, err) || write_tables(&d, t, to->table, err) ? -1 : 0;
	if (!rc) {
		buf_add_str(&d.sql, "COMMIT");
		rc = run(&d, err);
	}
	if (sqlite3_close(d.db) != SQLITE_OK && !rc)
		rc = fail(&d, SQLITE_ERROR, err);
	buf_release(&d.sql);
	return rc;
}

const struct exporter exporter_sqlite = {
	.name = "sqlite",
	.suffixes = ".sqlite .sqlite3 .db",
	.form = EXPORT_FILE,
	.write = export_sqlite,
};
