/*
 * SQL over the tables of a trace (tables/table.h), by SQLite: each table is a virtual one whose
 * rows come from a cursor, so that nothing is copied into a database.
 *
 * The statement is hostile input.  It may read tables and compute, nothing else: no other files, no
 * writing, no pragmas, no extensions; its time is limited and it can be stopped.  Memory is
 * limited from outside (RLIMIT_DATA).
 */
#ifndef QUERY_QUERY_H
#define QUERY_QUERY_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "tables/table.h"

#define QUERY_SQL_MAX (1u << 20) /* bytes of a statement */

struct query;

struct query_limits {
	double seconds;              /* 0: no limit */
	volatile sig_atomic_t *stop; /* not 0: stop soon; may be NULL */
};

/* The source is borrowed.  -1: text set. */
int query_new(struct query **out, struct table_source *s, const struct query_limits *limits,
	      struct err *err);
void query_free(struct query *q); /* NULL is a no-op */

/* What takes the rows; functions return -1 with err set to end the query. */
struct query_sink {
	void *ctx;
	/* Once, before any row. */
	int (*columns)(void *ctx, const char *const *names, size_t count, struct err *err);
	/* Blobs are cells of text: X'00FF'. */
	int (*row)(void *ctx, const struct cell *cells, size_t count, struct err *err);
};

enum query_failure {
	QUERY_MISTAKE, /* in the statement */
	QUERY_STOPPED, /* by limits->stop */
	QUERY_FAILED,  /* anything else: the trace, memory, time, the sink */
};

/* Runs one statement.  -1: *why says whose fault it is; of a mistake the text has the place. */
int query_run(struct query *q, const char *sql, const struct query_sink *sink,
	      enum query_failure *why, struct err *err);

/* The tables as SQLite's virtual ones. */

struct sqlite3;

struct table_modules {
	struct table_source *source;
	const struct query_limits *limits;
	double size_hint; /* how many rows large tables may have */
	struct err *err;  /* of a table that could not be read; text[0] is 0: none */
	bool declaring;   /* the columns of a table are being declared to SQLite: not a part of the
			     statement */
};

/* Makes them known to a database, which borrows *m.  -1: text set. */
int table_modules_register(struct sqlite3 *db, struct table_modules *m, struct err *err);

#endif
