#include "import/nsys/nsys_tables.h"

#include <ctype.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/array.h"
#include "import/nsys/sqlite_fd.h"

#define OPS_PER_STEP 1000
/*
 * A page that is reached in several ways makes a small file endless.  A row takes some bytes of
 * the file and some operations a column, so neither can be more than this in a sound one.
 */
#define OPS_PER_BYTE 16
#define OPS_ALWAYS 20000000
#define ROW_BYTES_LEAST 4
#define TABLES_MAX 4096u
#define NAME_MAX_BYTES 4096
#define TIME_MAX ((int64_t)1 << 61)

static int no_memory(struct nsys *n)
{
	return err_set(n->err, "out of memory");
}

static int check_progress(void *ctx)
{
	struct nsys *n = ctx;

	return ++n->steps * OPS_PER_STEP > OPS_ALWAYS + OPS_PER_BYTE * n->file_bytes;
}

/* SQLite quotes the file, and so do we: line ends in a name must not end the line. */
static void one_line(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

/* 0: it is damaged, which is remembered. */
static int failure(struct nsys *n, int rc, const char *table)
{
	const char *text = sqlite3_errmsg(n->db);

	if (rc == SQLITE_NOMEM)
		return no_memory(n);
	if (*n->damage)
		return 0;
	if (rc == SQLITE_INTERRUPT || rc == SQLITE_FULL)
		text = "it has more rows than a file of this size can hold";
	snprintf(n->damage, sizeof(n->damage), "%s%.64s%s%.300s", table ? "table " : "",
		 table ? table : "", table ? ": " : "", text);
	one_line(n->damage);
	return 0;
}

/* Expressions of columns are the file's own code: "x AS (...)".  The word stands nowhere else. */
static bool has_expressions(const char *sql)
{
	for (const char *at = sql; (at = strcasestr(at, "as")); at += 2) {
		bool begins = at == sql || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');

		if (begins && !isalnum((unsigned char)at[2]) && at[2] != '_')
			return true;
	}
	return false;
}

static int list_add(struct nsys *n, sqlite3_stmt *s)
{
	const char *type = (const char *)sqlite3_column_text(s, 0);
	const char *name = (const char *)sqlite3_column_text(s, 1);
	const char *sql = (const char *)sqlite3_column_text(s, 3);
	struct nsys_table *grown;
	bool table = type && !strcmp(type, "table") && sqlite3_column_int64(s, 2) > 1 && sql &&
		     !strncasecmp(sql, "CREATE TABLE", 12);

	if (!name || !type || !strcmp(type, "index") || n->table_count >= TABLES_MAX)
		return 0;
	grown = array_grow(n->tables, &n->table_cap, n->table_count + 1, sizeof(*grown));
	if (!grown)
		return no_memory(n);
	n->tables = grown;
	grown += n->table_count;
	*grown = (struct nsys_table){ .name = strdup(name) };
	grown->computed = table && has_expressions(sql);
	grown->usable = table && !grown->computed;
	if (!grown->name)
		return no_memory(n);
	n->table_count++;
	return 0;
}

static int list_tables(struct nsys *n)
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(n->db, "SELECT type, name, rootpage, sql FROM sqlite_master",
				    -1, &s, NULL);

	while (!rc && (rc = sqlite3_step(s)) == SQLITE_ROW) {
		rc = 0;
		if (++n->rows * ROW_BYTES_LEAST > n->file_bytes)
			rc = SQLITE_FULL;
		else if (list_add(n, s)) {
			sqlite3_finalize(s);
			return -1;
		}
	}
	sqlite3_finalize(s);
	return rc == SQLITE_DONE || !rc ? 0 : failure(n, rc, NULL);
}

int nsys_open(struct nsys *n, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return err_errno(n->err, "cannot read the file");
	n->file_bytes = (uint64_t)st.st_size;
	keymap_init(&n->strings);
	keymap_init(&n->waits);
	keymap_init(&n->calls);
	keymap_init(&n->ranges);
	keymap_init(&n->generic);
	buf_init(&n->shown);
	buf_init(&n->skipped);
	if (sqlite_fd_open(&n->db, fd, n->err))
		return -1;
	sqlite3_progress_handler(n->db, OPS_PER_STEP, check_progress, n);
	return list_tables(n);
}

void nsys_release(struct nsys *n)
{
	sqlite3_close(n->db);
	for (size_t i = 0; i < n->table_count; i++)
		free(n->tables[i].name);
	free(n->tables);
	keymap_release(&n->strings);
	keymap_release(&n->waits);
	keymap_release(&n->calls);
	keymap_release(&n->ranges);
	keymap_release(&n->generic);
	buf_release(&n->shown);
	buf_release(&n->skipped);
}

static struct nsys_table *find_table(const struct nsys *n, const char *name)
{
	for (size_t i = 0; i < n->table_count; i++)
		if (n->tables[i].usable && !strcasecmp(n->tables[i].name, name))
			return &n->tables[i];
	return NULL;
}

bool nsys_has(const struct nsys *n, const char *table)
{
	return find_table(n, table) != NULL;
}

/* A name in quotes. */
static void add_name(struct buf *sql, const char *name)
{
	buf_add_byte(sql, '"');
	for (const char *c = name; *c; c++) {
		if (*c == '"')
			buf_add_byte(sql, '"');
		buf_add_byte(sql, (uint8_t)*c);
	}
	buf_add_byte(sql, '"');
}

static int prepare_all(struct nsys *n, const char *table, sqlite3_stmt **out)
{
	struct buf sql;
	int rc;

	buf_init(&sql);
	buf_add_str(&sql, "SELECT * FROM main.");
	add_name(&sql, table);
	rc = sqlite3_prepare_v2(n->db, buf_string(&sql), -1, out, NULL);
	buf_release(&sql);
	return rc;
}

static bool has_column(sqlite3_stmt *all, const char *column)
{
	for (int i = 0; i < sqlite3_column_count(all); i++) {
		const char *name = sqlite3_column_name(all, i);

		if (name && !strcasecmp(name, column))
			return true;
	}
	return false;
}

bool nsys_has_column(struct nsys *n, const char *table, const char *column)
{
	sqlite3_stmt *all = NULL;
	bool has = nsys_has(n, table) && !prepare_all(n, table, &all) && has_column(all, column);

	sqlite3_finalize(all);
	return has;
}

/* Where only a part is wanted: the same part of every table.  Rows are numbered as they came. */
static int64_t rows_wanted(struct nsys *n, const char *table)
{
	sqlite3_stmt *s = NULL;
	struct buf sql;
	int64_t last = INT64_MAX;

	if (n->part >= n->file_bytes)
		return INT64_MAX;
	buf_init(&sql);
	buf_add_str(&sql, "SELECT rowid FROM main.");
	add_name(&sql, table);
	buf_add_str(&sql, " ORDER BY rowid DESC LIMIT 1");
	if (!sqlite3_prepare_v2(n->db, buf_string(&sql), -1, &s, NULL) &&
	    sqlite3_step(s) == SQLITE_ROW)
		last = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	buf_release(&sql);
	if (last <= 0)
		return 0;
	return (int64_t)((double)last * ((double)n->part / (double)n->file_bytes));
}

static int prepare(struct nsys *n, const char *table, const char *const *columns,
		   sqlite3_stmt **out)
{
	sqlite3_stmt *all = NULL;
	struct buf sql;
	int rc = prepare_all(n, table, &all);

	if (rc)
		return rc;
	buf_init(&sql);
	buf_add_str(&sql, "SELECT ");
	for (size_t i = 0; columns[i]; i++) {
		if (i)
			buf_add_str(&sql, ", ");
		if (has_column(all, columns[i]))
			add_name(&sql, columns[i]);
		else
			buf_add_str(&sql, "NULL");
	}
	buf_add_str(&sql, " FROM main.");
	add_name(&sql, table);
	sqlite3_finalize(all);
	rc = sql.failed ? SQLITE_NOMEM : sqlite3_prepare_v2(n->db, buf_string(&sql), -1, out, NULL);
	buf_release(&sql);
	return rc;
}

int nsys_read(struct nsys *n, const char *table, const char *const *columns, nsys_visit *visit,
	      void *ctx)
{
	struct nsys_table *t = find_table(n, table);
	struct nsys_row row = { .n = n, .ctx = ctx };
	sqlite3_stmt *s = NULL;
	int64_t wanted;
	int rc, visited = 0;

	for (size_t i = 0; !t && i < n->table_count; i++)
		if (n->tables[i].computed && !strcasecmp(n->tables[i].name, table) && !*n->damage)
			snprintf(n->damage, sizeof(n->damage),
				 "table %.64s: its columns are computed, which is not supported",
				 table);
	if (!t)
		return 0;
	t->taken = true;
	wanted = rows_wanted(n, t->name);
	rc = prepare(n, t->name, columns, &s);
	row.s = s;
	while (!rc && wanted-- > 0 && (rc = sqlite3_step(s)) == SQLITE_ROW) {
		rc = 0;
		if (++n->rows * ROW_BYTES_LEAST > n->file_bytes) {
			rc = SQLITE_FULL;
			break;
		}
		visited = visit(&row);
		if (visited)
			break;
	}
	if (rc && rc != SQLITE_DONE)
		rc = failure(n, rc, t->name);
	else
		rc = 0;
	sqlite3_finalize(s);
	return visited < 0 ? no_memory(n) : rc;
}

bool nsys_given(const struct nsys_row *r, int column)
{
	return sqlite3_column_type(r->s, column) != SQLITE_NULL;
}

int64_t nsys_integer(const struct nsys_row *r, int column)
{
	return sqlite3_column_int64(r->s, column);
}

uint32_t nsys_u32(const struct nsys_row *r, int column)
{
	int64_t value = sqlite3_column_int64(r->s, column);

	return value < 0 ? 0 : value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

const char *nsys_text(const struct nsys_row *r, int column)
{
	const char *text = (const char *)sqlite3_column_text(r->s, column);

	return text ? text : "";
}

int nsys_name(const struct nsys_row *r, int column, uint32_t *name)
{
	const char *text;
	uint32_t known;
	size_t bytes;

	*name = 0;
	switch (sqlite3_column_type(r->s, column)) {
	case SQLITE_INTEGER:
		known = keymap_find(&r->n->strings, (uint64_t)nsys_integer(r, column));
		*name = known == KEYMAP_NONE ? 0 : known;
		return 0;
	case SQLITE_TEXT:
		text = (const char *)sqlite3_column_text(r->s, column);
		if (!text)
			return -1;
		bytes = strlen(text);
		if (bytes > NAME_MAX_BYTES)
			bytes = NAME_MAX_BYTES;
		while (bytes && ((unsigned char)text[bytes] & 0xc0) == 0x80)
			bytes--;
		if (!bytes)
			return 0;
		*name = build_name(r->n->build, text, bytes);
		return *name ? 0 : -1;
	default:
		return 0;
	}
}

bool nsys_time(const struct nsys_row *r, int column, int64_t *ns)
{
	*ns = nsys_integer(r, column);
	if (nsys_given(r, column) && *ns<TIME_MAX && * ns> - TIME_MAX)
		return true;
	r->n->bad_times++;
	return false;
}
