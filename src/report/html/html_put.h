/* Text inside HTML and inside its attributes, both alike. */
#ifndef REPORT_HTML_HTML_PUT_H
#define REPORT_HTML_HTML_PUT_H

#include <stddef.h>

#include "analyze/figures/curve.h"
#include "base/buf.h"
#include "report/plain_text.h"
#include "report/report.h"

static inline void html_bytes(struct buf *out, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		switch (s[i]) {
		case '&':
			buf_add_str(out, "&amp;");
			break;
		case '<':
			buf_add_str(out, "&lt;");
			break;
		case '>':
			buf_add_str(out, "&gt;");
			break;
		case '"':
			buf_add_str(out, "&quot;");
			break;
		case '\'':
			buf_add_str(out, "&#39;");
			break;
		default:
			buf_add_byte(out, (uint8_t)s[i]);
		}
	}
}

/* The user's: without control characters as well. */
static inline void html_text(struct buf *out, const char *s)
{
	struct buf clean;

	buf_init(&clean);
	text_add_clean(&clean, s);
	html_bytes(out, clean.data, clean.len);
	out->failed |= clean.failed;
	buf_release(&clean);
}

/*
 * A Markdown report as HTML, so that the page says what the Markdown says and each chapter is
 * written once.
 *
 * Understood is what our own reports are made of (markdown.h): headings, paragraphs, lists in
 * lists, tables, code spans, bold text, escaped characters, links into the page.  All else is text,
 * and text is escaped: whatever the Markdown holds, the result has no element or attribute but
 * those named here.
 */

/* A page must open quickly: rows beyond are counted, and code spans are cut. */
#define HTML_ROWS_MAX 500u
#define HTML_CODE_MAX 500u /* bytes */

struct html_hooks {
	/*
	 * Behind the heading of a chapter ("## "), which is not terminated; at the end of the
	 * header, with an empty one.
	 */
	void (*chapter)(struct buf *out, const char *heading, size_t n, void *context);
	void *context;
};

/* The links to the chapters. */
void html_contents(struct buf *out, const char *markdown, size_t n);

/* A header with what stands before the first chapter, then a section for each. */
void html_body(struct buf *out, const char *markdown, size_t n, const struct html_hooks *hooks);

/* A page of a Markdown text: one file without external references. */
struct html_page {
	struct buf title, style; /* HTML; rules that are added to the page's */
	struct buf markdown;
	const struct analysis *timeline; /* that is drawn behind it; NULL: none */
};

/* Fill in the parts in between; finish gives them back. */
void html_page_init(struct html_page *page);
void html_page_finish(struct buf *out, struct html_page *page, const struct html_hooks *hooks);

/* The plots of the page, each behind the heading of its chapter; nothing where nothing is known. */

/* For html_body(); the context is the struct html_plots. */
struct html_plots {
	const struct analysis *analysis;
	size_t gpu_chapters; /* so far: the next one is of that section */
};

void html_plots_add(struct buf *out, const char *heading, size_t n, void *context);

/* Style rules that give the items of the breakdown's list the colours of its bar. */
void html_plots_key(struct buf *out, const struct analysis *a, enum report_detail detail);

/*
 * Plots as inline SVG.  Colours and fonts are the page's (report/html/report.css), so that they
 * follow light and dark; every plot has a text that says what it shows.  Texts that are given are
 * HTML: the user's are escaped already (html_put.h).
 */

/* A part of a bar, of a class of the page's that has its colour. */
struct svg_part {
	const char *colour; /* class */
	const char *title;  /* "GPU compute" */
	const char *figures;
	double share; /* of the whole */
};

/* One bar, of parts that add up; `label` says what it is. */
void svg_bar(struct buf *out, const char *label, const struct svg_part *parts, size_t n);

/* A height that is marked. */
struct svg_mark {
	const char *name;
	double value;
};

struct svg_axes {
	const char *label;                                  /* what is shown */
	const char *(*figure)(char[TEXT_FIGURE], double y); /* a height, for people */
	double top;  /* the greatest height; 0: as the data needs */
	bool filled; /* down to 0 */
	bool wide;   /* alone in its row */
	const struct svg_mark *marks;
	size_t mark_count;
};

/* Heights over time: from the least to the greatest in each interval. */
void svg_curve(struct buf *out, const struct svg_axes *axes, const struct curve *c);

/* Nothing where all last the same. */
void svg_histogram(struct buf *out, const char *label, const struct histogram *h);

#endif
