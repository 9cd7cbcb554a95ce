/*
 * Writing an analysis to files.  The format follows from the file's name; each format is one entry
 * in a table and one file.
 *
 * All are pure functions of the analysis and the detail: the same trace gives the same bytes, on
 * any machine and at any time.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "analyze/analysis.h"
#include "base/buf.h"
#include "base/err.h"

enum report_detail { DETAIL_SHORT, DETAIL_NORMAL, DETAIL_FULL };

struct report_backend {
	const char *name;      /* "Markdown" */
	const char *extension; /* ".md" */
	void (*render)(struct buf *out, const struct analysis *a, enum report_detail detail);
};

extern const struct report_backend report_markdown, report_json, report_html;

/*
 * The back end for a path: by its ending; Markdown for standard output and
 * character devices.  NULL with a text that names the path: a usage error.
 */
const struct report_backend *report_backend_for(const char *path, struct err *err);

/* "short", "normal" or "full"; anything else is normal. */
enum report_detail report_detail_of(const char *name);

/* How many rows of a long table to show: the smaller of n and the detail's limit. */
size_t report_rows(enum report_detail detail, size_t n, size_t short_rows, size_t normal_rows);

/* A part too small for a row of its own, unless everything is asked for. */
bool report_leaves_out(enum report_detail detail, double part, double whole, double least_share);

/*
 * Checks before a workload runs whether report_write() could put a file here.
 * Leaves an existing file as it is.
 */
int report_check_writable(const char *path, struct err *err);

/*
 * Replaces the file as a whole (base/outfile.h): a reader never sees half a report, and a full
 * disk does not destroy an old one.
 */
int report_write(const struct analysis *a, const char *path, enum report_detail detail,
		 struct err *err);

/* The same for a text that is there already. */
int report_write_text(const char *path, const struct buf *text, struct err *err);

struct terminal_style {
	size_t columns; /* 0: unknown */
	bool colour;
	enum report_detail detail;
	const char *const *written; /* reports to name, or NULL */
	size_t written_count;
	const char *trace; /* trace file to name, or NULL */
};

/* The summary, at most 38 lines.  -1: it could not be written. */
int report_terminal(const struct analysis *a, FILE *out, const struct terminal_style *style);

#endif
