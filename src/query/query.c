#include "query/query.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/buf.h"
#include "base/sql_sandbox.h"

#define OPS_PER_CHECK 20000
#define TEXT_MAX (64 << 20) /* bytes of a value: zeroblob() and the like end there */

struct query {
	sqlite3 *db;
	struct query_limits limits;
	struct table_modules modules;
	struct err table_err;
	bool sealed; /* from here on only the statement is prepared */
	bool late;   /* the time was over */
	double until;
};

static double now_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* Reading tables and computing; these few functions reach beyond. */
static bool is_forbidden_function(const char *name)
{
	static const char *const forbidden[] = { "load_extension", "fts3_tokenizer", "readfile",
						 "writefile", "edit" };

	for (size_t i = 0; i < sizeof(forbidden) / sizeof(*forbidden); i++)
		if (!strcasecmp(forbidden[i], name))
			return true;
	return false;
}

static int authorize(void *ctx, int action, const char *first, const char *second,
		     const char *database, const char *trigger)
{
	const struct query *q = ctx;

	(void)first;
	(void)database;
	(void)trigger;
	if (!q->sealed || q->modules.declaring)
		return SQLITE_OK;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		return is_forbidden_function(second) ? SQLITE_DENY : SQLITE_OK;
	default:
		return SQLITE_DENY;
	}
}

static int check_progress(void *ctx)
{
	struct query *q = ctx;

	if (q->limits.stop && *q->limits.stop)
		return 1;
	q->late = q->limits.seconds > 0 && now_seconds() > q->until;
	return q->late;
}

static void harden(struct query *q)
{
	static const struct sql_limit limits[] = {
		{ SQLITE_LIMIT_LENGTH, TEXT_MAX },
		{ SQLITE_LIMIT_SQL_LENGTH, QUERY_SQL_MAX },
		{ SQLITE_LIMIT_EXPR_DEPTH, 500 },
		{ SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000 },
	};

	sql_sandbox(q->db, limits, sizeof(limits) / sizeof(*limits));
	/* What does not fit into memory ends the query: no file is written. */
	sqlite3_exec(q->db, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL);
	sqlite3_set_authorizer(q->db, authorize, q);
	sqlite3_progress_handler(q->db, OPS_PER_CHECK, check_progress, q);
}

int query_new(struct query **out, struct table_source *s, const struct query_limits *limits,
	      struct err *err)
{
	struct query *q = calloc(1, sizeof(*q));

	if (!q)
		return err_set(err, "out of memory");
	q->limits = *limits;
	q->modules = (struct table_modules){
		.source = s, .limits = &q->limits, .size_hint = 1e6, .err = &q->table_err
	};
	if (sqlite3_open_v2(":memory:", &q->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX,
			    NULL)) {
		err_set(err, "cannot open SQLite: %s",
			q->db ? sqlite3_errmsg(q->db) : "out of memory");
		query_free(q);
		return -1;
	}
	harden(q);
	if (table_modules_register(q->db, &q->modules, err)) {
		query_free(q);
		return -1;
	}
	q->sealed = true;
	*out = q;
	return 0;
}

void query_free(struct query *q)
{
	if (!q)
		return;
	sqlite3_close(q->db);
	free(q);
}

/* " at line 2, column 8, near 'nam, coun'"; nothing if SQLite gives no position. */
static void add_place(struct buf *b, sqlite3 *db, const char *sql)
{
	size_t line = 1, column = 1;
	int at = -1;

#if SQLITE_VERSION_NUMBER >= 3038000
	at = sqlite3_error_offset(db);
#else
	(void)db;
#endif
	if (at < 0 || (size_t)at >= strlen(sql))
		return;
	for (int i = 0; i < at; i++) {
		if (sql[i] == '\n') {
			line++;
			column = 1;
		} else {
			column += (sql[i] & 0xc0) != 0x80;
		}
	}
	buf_printf(b, ", line %zu, column %zu, at '%.*s'", line, column,
		   (int)strcspn(sql + at, "\n"), sql + at);
}

static const char refused[] = "a query only reads tables and computes; nothing else is permitted";

static int mistake(struct query *q, const char *sql, enum query_failure *why, struct err *err)
{
	const char *text = sqlite3_errmsg(q->db);
	struct buf b;

	*why = QUERY_MISTAKE;
	if (!strcmp(text, "not authorized") || strstr(text, "prohibited"))
		text = refused;
	buf_init(&b);
	buf_add_str(&b, text);
	add_place(&b, q->db, sql);
	err_set(err, "%.600s", buf_string(&b));
	buf_release(&b);
	return -1;
}

static int failure(struct query *q, int rc, enum query_failure *why, struct err *err)
{
	*why = QUERY_FAILED;
	if (q->limits.stop && *q->limits.stop) {
		*why = QUERY_STOPPED;
		return err_set(err, "interrupted");
	}
	if (q->late)
		return err_set(err, "the query took longer than %.15g s; --time-limit allows more",
			       q->limits.seconds);
	if (q->table_err.text[0]) {
		*err = q->table_err;
		return -1;
	}
	if (rc == SQLITE_NOMEM)
		return err_set(err, "out of memory");
	/* Of the data: integer overflow, a value that is too long, malformed JSON. */
	*why = QUERY_MISTAKE;
	return err_set(err, "%.600s", sqlite3_errmsg(q->db));
}

static int prepare(struct query *q, const char *sql, sqlite3_stmt **out, enum query_failure *why,
		   struct err *err)
{
	const char *rest = NULL;
	sqlite3_stmt *more = NULL;
	int rc = sqlite3_prepare_v2(q->db, sql, -1, out, &rest);

	*why = QUERY_MISTAKE;
	if (rc == SQLITE_NOMEM || q->late || q->table_err.text[0])
		return failure(q, rc, why, err);
	if (rc)
		return mistake(q, sql, why, err);
	if (!*out)
		return err_set(err, "it is empty");
	if (!sqlite3_column_count(*out) || !sqlite3_stmt_readonly(*out))
		return err_set(err, "%s", refused);
	/* A comment may follow. */
	if (sqlite3_prepare_v2(q->db, rest, -1, &more, NULL) || more) {
		sqlite3_finalize(more);
		return err_set(err, "it is more than one statement");
	}
	if (sqlite3_bind_parameter_count(*out))
		return err_set(err, "it has a parameter, which has no value");
	return 0;
}

static void blob_cell(struct buf *text, sqlite3_stmt *s, int column, struct cell *out)
{
	const uint8_t *bytes = sqlite3_column_blob(s, column);
	int n = sqlite3_column_bytes(s, column);

	buf_clear(text);
	buf_add_str(text, "X'");
	for (int i = 0; i < n; i++)
		buf_printf(text, "%02X", bytes[i]);
	buf_add_byte(text, '\'');
	out->kind = CELL_TEXT;
	out->text = buf_string(text);
}

static void read_cell(struct buf *text, sqlite3_stmt *s, int column, struct cell *out)
{
	*out = (struct cell){ .kind = CELL_NULL };
	switch (sqlite3_column_type(s, column)) {
	case SQLITE_INTEGER:
		out->kind = CELL_INTEGER;
		out->integer = sqlite3_column_int64(s, column);
		break;
	case SQLITE_FLOAT:
		out->kind = CELL_REAL;
		out->real = sqlite3_column_double(s, column);
		break;
	case SQLITE_TEXT:
		out->text = (const char *)sqlite3_column_text(s, column);
		out->kind = out->text ? CELL_TEXT : CELL_NULL;
		break;
	case SQLITE_BLOB:
		blob_cell(text, s, column, out);
		break;
	default:
		break;
	}
}

static int run_rows(struct query *q, sqlite3_stmt *s, struct cell *cells, struct buf *texts,
		    const struct query_sink *sink, enum query_failure *why, struct err *err)
{
	int count = sqlite3_column_count(s), rc;

	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		for (int i = 0; i < count; i++) {
			read_cell(&texts[i], s, i, &cells[i]);
			if (texts[i].failed)
				return failure(q, SQLITE_NOMEM, why, err);
		}
		if (sink->row(sink->ctx, cells, (size_t)count, err)) {
			*why = QUERY_FAILED;
			return -1;
		}
	}
	return rc == SQLITE_DONE ? 0 : failure(q, rc, why, err);
}

static int run_statement(struct query *q, sqlite3_stmt *s, const struct query_sink *sink,
			 enum query_failure *why, struct err *err)
{
	size_t count = (size_t)sqlite3_column_count(s);
	const char **names = calloc(count + 1, sizeof(*names));
	struct cell *cells = calloc(count + 1, sizeof(*cells));
	struct buf *texts = calloc(count + 1, sizeof(*texts));
	int rc = -1;

	*why = QUERY_FAILED;
	err_set(err, "out of memory");
	if (!names || !cells || !texts)
		goto out;
	for (size_t i = 0; i < count; i++) {
		buf_init(&texts[i]);
		names[i] = sqlite3_column_name(s, (int)i);
		if (!names[i])
			goto out;
	}
	if (!sink->columns(sink->ctx, names, count, err))
		rc = run_rows(q, s, cells, texts, sink, why, err);
out:
	for (size_t i = 0; texts && i < count; i++)
		buf_release(&texts[i]);
	free(names);
	free(cells);
	free(texts);
	return rc;
}

int query_run(struct query *q, const char *sql, const struct query_sink *sink,
	      enum query_failure *why, struct err *err)
{
	sqlite3_stmt *s = NULL;
	int rc;

	q->late = false;
	q->until = now_seconds() + q->limits.seconds;
	q->table_err.text[0] = '\0';
	if (strlen(sql) > QUERY_SQL_MAX) {
		*why = QUERY_MISTAKE;
		return err_set(err, "it is longer than %u bytes", QUERY_SQL_MAX);
	}
	rc = prepare(q, sql, &s, why, err);
	if (!rc)
		rc = run_statement(q, s, sink, why, err);
	sqlite3_finalize(s);
	return rc;
}
