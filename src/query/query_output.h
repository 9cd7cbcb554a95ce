/*
 * Rows of a query as text: a table for people, CSV (RFC 4180 but with LF), JSON (an array with an
 * object for each row).  Rows are written as they come; a table's column widths are those of its
 * first rows.
 */
#ifndef QUERY_QUERY_OUTPUT_H
#define QUERY_QUERY_OUTPUT_H

#include "base/buf.h"
#include "base/json.h"
#include "query/query.h"

enum query_format { QUERY_TABLE, QUERY_CSV, QUERY_JSON };

struct query_output {
	enum query_format format;
	int fd;
	struct buf text; /* not written yet */
	char **names;
	size_t column_count;
	size_t *widths;
	bool *numbers;      /* columns of numbers stand right */
	struct buf waiting; /* cells of the first rows of a table, each ended by NUL */
	size_t waiting_rows;
	bool settled; /* widths are known */
	struct json json;
	uint64_t rows;
};

void query_output_init(struct query_output *o, enum query_format format, int fd);
void query_output_release(struct query_output *o);

/* For query_run(). */
struct query_sink query_output_sink(struct query_output *o);

/* After the last row.  -1: not all could be written. */
int query_output_finish(struct query_output *o, struct err *err);

#endif
