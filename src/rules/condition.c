#include "rules/condition.h"

#include <math.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/sql_sandbox.h"

#define PREFIX "SELECT "
#define SUFFIX "\nFROM metrics" /* on a line of its own: the expression may end in a comment */

/* One row and no loops: an expression of the permitted length is done long before. */
#define OPS_PER_CHECK 1000
#define CHECKS_MAX 100

struct conditions {
	sqlite3 *db;
	bool sealed;      /* from here on only conditions are read */
	unsigned selects; /* of the expression that is being read: 1 is ours */
	unsigned checks;  /* at the expression that runs */
};

/* All of them without side effects, and none makes long texts. */
static const char *const functions[] = {
	"abs",  "acos", "asin",  "atan",   "atan2",  "ceil", "ceiling", "coalesce",
	"cos",  "exp",  "floor", "ifnull", "iif",    "ln",   "log",     "log10",
	"log2", "max",  "min",   "mod",    "nullif", "pow",  "power",   "round",
	"sign", "sin",  "sqrt",  "tan",    "trunc",
};

static bool permitted_function(const char *name)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (!strcasecmp(functions[i], name))
			return true;
	return false;
}

static int authorize(void *ctx, int action, const char *first, const char *second,
		     const char *database, const char *trigger)
{
	struct conditions *c = ctx;

	(void)database;
	(void)trigger;
	if (!c->sealed)
		return SQLITE_OK;
	switch (action) {
	case SQLITE_SELECT:
		return ++c->selects == 1 ? SQLITE_OK : SQLITE_DENY;
	case SQLITE_READ:
		return !strcmp(first, "metrics") ? SQLITE_OK : SQLITE_DENY;
	case SQLITE_FUNCTION:
		return permitted_function(second) ? SQLITE_OK : SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

static int check_progress(void *ctx)
{
	struct conditions *c = ctx;

	return c->sealed && ++c->checks > CHECKS_MAX;
}

static void harden(struct conditions *c)
{
	static const struct sql_limit limits[] = {
		{ SQLITE_LIMIT_LENGTH, 4 * CONDITION_MAX }, /* the table's own definition fits */
		{ SQLITE_LIMIT_SQL_LENGTH, 2 * CONDITION_MAX },
		{ SQLITE_LIMIT_EXPR_DEPTH, 100 },
		{ SQLITE_LIMIT_COMPOUND_SELECT, 1 },
		{ SQLITE_LIMIT_VDBE_OP, 20000 },
		{ SQLITE_LIMIT_FUNCTION_ARG, 32 },
		{ SQLITE_LIMIT_VARIABLE_NUMBER, METRIC_COUNT },
	};

	sql_sandbox(c->db, limits, sizeof(limits) / sizeof(*limits));
	sqlite3_set_authorizer(c->db, authorize, c);
	sqlite3_progress_handler(c->db, OPS_PER_CHECK, check_progress, c);
}

static int write_row(struct conditions *c, const struct metrics *m)
{
	sqlite3_stmt *insert = NULL;
	struct buf sql;
	int rc = -1;

	buf_init(&sql);
	buf_add_str(&sql, "CREATE TABLE metrics(");
	for (size_t i = 0; i < METRIC_COUNT; i++)
		buf_printf(&sql, "%s%s REAL", i ? "," : "", metrics_table[i].name);
	buf_add_byte(&sql, ')');
	if (sqlite3_exec(c->db, buf_string(&sql), NULL, NULL, NULL))
		goto out;
	buf_clear(&sql);
	buf_add_str(&sql, "INSERT INTO metrics VALUES(");
	for (size_t i = 0; i < METRIC_COUNT; i++)
		buf_add_str(&sql, i ? ",?" : "?");
	buf_add_byte(&sql, ')');
	if (sqlite3_prepare_v2(c->db, buf_string(&sql), -1, &insert, NULL))
		goto out;
	for (size_t i = 0; i < METRIC_COUNT; i++) {
		double value = metric_value(m, i);

		if (isfinite(value)) /* else it stays NULL */
			sqlite3_bind_double(insert, (int)i + 1, value);
	}
	rc = sqlite3_step(insert) == SQLITE_DONE ? 0 : -1;
out:
	sqlite3_finalize(insert);
	buf_release(&sql);
	return rc;
}

int conditions_new(struct conditions **out, const struct metrics *m, struct err *err)
{
	struct conditions *c = calloc(1, sizeof(*c));

	if (!c)
		return err_set(err, "out of memory");
	if (sqlite3_open_v2(":memory:", &c->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX,
			    NULL)) {
		err_set(err, "cannot open SQLite: %s", c->db ? sqlite3_errmsg(c->db) : "no memory");
		conditions_free(c);
		return -1;
	}
	harden(c);
	if (write_row(c, m)) {
		err_set(err, "SQLite: %s", sqlite3_errmsg(c->db));
		conditions_free(c);
		return -1;
	}
	c->sealed = true;
	*out = c;
	return 0;
}

void conditions_free(struct conditions *c)
{
	if (!c)
		return;
	sqlite3_close(c->db);
	free(c);
}

/* From 1, in characters; 0: SQLite does not tell, or the end of the text is where it fails. */
static size_t position(sqlite3 *db, const char *expression)
{
	size_t n = 1;
	int at = -1;

#if SQLITE_VERSION_NUMBER >= 3038000
	at = sqlite3_error_offset(db) - (int)strlen(PREFIX);
#else
	(void)db;
#endif
	if (at < 0 || (size_t)at >= strlen(expression))
		return 0;
	for (int i = 0; i < at; i++)
		n += (expression[i + 1] & 0xc0) != 0x80;
	return n;
}

static int refuse(struct conditions *c, const char *expression, struct err *err)
{
	const char *why = sqlite3_errmsg(c->db);
	size_t at = position(c->db, expression);

	if (c->selects > 1)
		why = "it must not contain a SELECT";
	else if (!at && strstr(why, "near \"FROM\""))
		why = "it is incomplete";
	if (at)
		return err_set(err, "at character %zu: %s", at, why);
	return err_set(err, "%s", why);
}

static int prepare(struct conditions *c, const char *expression, sqlite3_stmt **out,
		   struct err *err)
{
	const char *rest = NULL;
	struct buf sql;
	int rc = -1;

	c->selects = 0;
	*out = NULL;
	buf_init(&sql);
	buf_printf(&sql, PREFIX "%s" SUFFIX, expression);
	if (sql.failed)
		err_set(err, "out of memory");
	else if (sqlite3_prepare_v2(c->db, buf_string(&sql), -1, out, &rest))
		refuse(c, expression, err);
	else if (!*out || *rest || sqlite3_column_count(*out) != 1)
		err_set(err, "it is more than one expression");
	else if (sqlite3_bind_parameter_count(*out))
		err_set(err, "it has a parameter, which has no value");
	else
		rc = 0;
	buf_release(&sql);
	if (rc) {
		sqlite3_finalize(*out);
		*out = NULL;
	}
	return rc;
}

static int read_value(struct conditions *c, sqlite3_stmt *s, double *value, struct err *err)
{
	int rc = sqlite3_step(s);

	if (rc == SQLITE_INTERRUPT)
		return err_set(err, "it takes too long");
	if (rc != SQLITE_ROW)
		return err_set(err, "%s", sqlite3_errmsg(c->db));
	switch (sqlite3_column_type(s, 0)) {
	case SQLITE_NULL:
		*value = NAN;
		return 0;
	case SQLITE_INTEGER:
	case SQLITE_FLOAT:
		*value = sqlite3_column_double(s, 0);
		return 0;
	default:
		return err_set(err, "its value is text, not a number");
	}
}

int condition_value(struct conditions *c, const char *expression, double *value, struct err *err)
{
	sqlite3_stmt *s;
	int rc;

	*value = NAN;
	c->checks = 0;
	if (strlen(expression) > CONDITION_MAX)
		return err_set(err, "it is longer than %u bytes", CONDITION_MAX);
	if (!expression[strspn(expression, " \t\r\n")])
		return err_set(err, "it is empty");
	if (prepare(c, expression, &s, err))
		return -1;
	rc = read_value(c, s, value, err);
	sqlite3_finalize(s);
	return rc;
}
