/*
 * A Markdown report as HTML, so that the page says what the Markdown says and each chapter is
 * written once.
 *
 * Understood is what our own reports are made of (markdown.h): headings, paragraphs, lists in
 * lists, tables, code spans, bold text, escaped characters, links into the page.  All else is text,
 * and text is escaped: whatever the Markdown holds, the result has no element or attribute but
 * those named here.
 */
#ifndef REPORT_HTML_MARKDOWN_H
#define REPORT_HTML_MARKDOWN_H

#include <stddef.h>

#include "base/buf.h"

/* A page must open quickly: rows beyond are counted, and code spans are cut. */
#define HTML_ROWS_MAX 500u
#define HTML_CODE_MAX 500u /* bytes */

struct html_hooks {
	/* Behind the heading of a chapter ("## "), which is not terminated. */
	void (*chapter)(struct buf *out, const char *heading, size_t n, void *context);
	void *context;
};

/* The links to the chapters. */
void html_contents(struct buf *out, const char *markdown, size_t n);

/* A header with what stands before the first chapter, then a section for each. */
void html_body(struct buf *out, const char *markdown, size_t n, const struct html_hooks *hooks);

#endif
