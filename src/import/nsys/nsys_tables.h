/*
 * Rows of an exported table, column by name.  Versions of Nsight Systems differ in tables and
 * columns: what is missing reads as NULL.
 */
#ifndef IMPORT_NSYS_NSYS_TABLES_H
#define IMPORT_NSYS_NSYS_TABLES_H

#include <stdbool.h>

#include "base/buf.h"
#include "import/build/build.h"
#include "import/build/tables.h"

#define NSYS_COLUMNS_MAX 32

struct nsys_table {
	char *name;
	bool usable;   /* an ordinary table: no view, no virtual one */
	bool computed; /* it would be usable, but for columns that run expressions */
	bool taken;    /* read as something */
};

struct nsys {
	struct sqlite3 *db;
	struct build *build;
	struct err *err;
	uint64_t file_bytes, part;
	uint64_t steps; /* thousands of SQLite's operations so far */
	uint64_t rows;
	struct nsys_table *tables;
	size_t table_count, table_cap;
	struct keymap strings; /* StringIds: name */
	struct keymap waits;   /* (process, correlation): 1 + the stream that was waited for */
	struct keymap calls;   /* name of a call as exported: without its version */
	struct keymap ranges;  /* (process, domain) and (process, domain, category): name */
	struct keymap generic; /* (file, name): function */
	uint8_t memory_kinds[16], copy_kinds[16];
	/* Of the latest row: most rows are of the same thread; 0: none yet. */
	int64_t last_global_pid, last_global_tid;
	uint32_t last_process, last_thread;
	uint64_t events, bad_times, negative, unmapped;
	struct buf shown, skipped; /* "OSRT_API 4631, ..." */
	char damage[512];          /* the first; or "" */
};

struct nsys_row {
	struct nsys *n;
	struct sqlite3_stmt *s;
	void *ctx;
};

/* 1: and no further row, 0: next, -1: no memory. */
typedef int nsys_visit(const struct nsys_row *r);

/* All of them are listed; -1: err set. */
int nsys_open(struct nsys *n, int fd);
void nsys_release(struct nsys *n);

bool nsys_has(const struct nsys *n, const char *table);
bool nsys_has_column(struct nsys *n, const char *table, const char *column);

/*
 * Every row of a table, which may be missing; its i-th column is columns[i], the list ends with
 * NULL.  Damage ends the table and is remembered.  -1: err set: no memory.
 */
int nsys_read(struct nsys *n, const char *table, const char *const *columns, nsys_visit *visit,
	      void *ctx);

bool nsys_given(const struct nsys_row *r, int column);
int64_t nsys_integer(const struct nsys_row *r, int column);  /* NULL: 0 */
uint32_t nsys_u32(const struct nsys_row *r, int column);     /* NULL, negative: 0 */
const char *nsys_text(const struct nsys_row *r, int column); /* borrowed; NULL: "" */

/* A text, or the number of one in StringIds.  *name 0: there is none.  -1: no memory. */
int nsys_name(const struct nsys_row *r, int column, uint32_t *name);

/* false: no time that a trace can hold; counted. */
bool nsys_time(const struct nsys_row *r, int column, int64_t *ns);

/* nsys_events.c: into the build, what no table has is omitted.  -1: err set. */
int nsys_read_calls(struct nsys *n);
int nsys_read_work(struct nsys *n);
int nsys_read_nvtx(struct nsys *n);
int nsys_read_generic(struct nsys *n);

/* globalTid and globalPid: 16 bits of machine, 24 of process, 24 of thread. */
uint32_t nsys_process(struct nsys *n, int64_t global);
uint32_t nsys_thread(struct nsys *n, int64_t global);

#endif
