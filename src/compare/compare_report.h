/*
 * Writing a comparison down: terminal, Markdown, HTML (the Markdown set as a page), JSON
 * (docs/schema/diff.schema.json).  All are pure functions of the comparison and the detail.
 */
#ifndef COMPARE_COMPARE_REPORT_H
#define COMPARE_COMPARE_REPORT_H

#include <stdio.h>

#include "base/buf.h"
#include "base/figure_text.h"
#include "compare/comparison.h"
#include "report/report.h"

/* For a path that report_backend_for() accepts. */
int comparison_write(const struct comparison *c, const char *path, enum report_detail detail,
		     struct err *err);

/* The summary.  -1: it could not be written. */
int comparison_print(const struct comparison *c, FILE *out, const struct terminal_style *style);

/* The formats. */
void comparison_markdown(struct buf *out, const struct comparison *c, enum report_detail detail);
void comparison_json(struct buf *out, const struct comparison *c, enum report_detail detail);

/* Words that the formats share. */

struct compared_part_text {
	const char *title;  /* of a chapter: "Kernels" */
	const char *column; /* of its table: "kernel" */
	const char *key;    /* of report.json's kind: "kernels" */
	const char *means;  /* a sentence below the table */
	bool counted;       /* rows have counts */
};

extern const struct compared_part_text compared_part_texts[COMPARED_PARTS];

/* "slower by 10.2 %", "no significant change"; and how sure that is. */
void comparison_verdict(struct buf *out, const struct comparison *c);
void comparison_because(struct buf *out, const struct comparison *c);

/* "+1.20 ms"; "+10.2 %", "new" or "gone"; return out. */
const char *compared_delta(char out[TEXT_FIGURE], double ns);
const char *compared_percent(char out[TEXT_FIGURE], double before, double after);

/* Is the row too small to be shown? */
bool compared_row_is_small(const struct comparison *c, const struct compared_row *r,
			   enum report_detail detail);

/* "serve.py:41", with the line before where it moved: "serve.py:41 (was 39)". */
void compared_row_place(struct buf *out, const struct compared_row *r);

#endif
