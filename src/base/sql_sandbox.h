/*
 * SQLite without what a hostile statement or file could use: no extensions, triggers, views, other
 * files or threads.  The caller sets further limits and the authorizer.  Header only, for those
 * that link SQLite.
 */
#ifndef BASE_SQL_SANDBOX_H
#define BASE_SQL_SANDBOX_H

#include <sqlite3.h>
#include <stddef.h>

struct sql_limit {
	int what, most; /* SQLITE_LIMIT_... */
};

static inline void sql_sandbox(sqlite3 *db, const struct sql_limit *limits, size_t count)
{
	static const int off[] = {
		SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION,
		SQLITE_DBCONFIG_ENABLE_TRIGGER,
		SQLITE_DBCONFIG_ENABLE_VIEW,
		SQLITE_DBCONFIG_TRUSTED_SCHEMA,
		/* A mistyped name in double quotes is an error, not a text. */
		SQLITE_DBCONFIG_DQS_DML,
		SQLITE_DBCONFIG_DQS_DDL,
	};

	for (size_t i = 0; i < sizeof(off) / sizeof(*off); i++)
		sqlite3_db_config(db, off[i], 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_limit(db, SQLITE_LIMIT_TRIGGER_DEPTH, 0);
	sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
	for (size_t i = 0; i < count; i++)
		sqlite3_limit(db, limits[i].what, limits[i].most);
}

#endif
