/* Text for a terminal: columns, labels and colours, collected before any of it is written. */
#ifndef REPORT_TERMINAL_TERMINAL_TEXT_H
#define REPORT_TERMINAL_TERMINAL_TEXT_H

#include <stdbool.h>

#include "analyze/analysis.h"
#include "base/buf.h"
#include "report/report.h"

#define COLUMN ((size_t)9) /* of a figure */
#define LABEL ((size_t)10)

#define BOLD "1"
#define DIM "2"
#define YELLOW "33"
#define RED "31"

struct terminal {
	struct buf out;
	size_t width;
	bool colour;
};

/* The width to write for on a terminal of so many columns; 0: it is none. */
size_t terminal_width(size_t columns);

void terminal_colour(struct terminal *s, const char *code);
void terminal_plain(struct terminal *s);

/* Text in so many columns; what is wider is cut (left) or sticks out (right). */
void terminal_left(struct terminal *s, const char *text, size_t columns);
void terminal_right(struct terminal *s, const char *text, size_t columns);

/* What a line is about. */
void terminal_label(struct terminal *s, const char *name);

/* A text behind its label, in at most so many lines; colour: NULL, none of its own. */
void terminal_wrapped(struct terminal *s, const char *label, const char *text, size_t lines,
		      const char *colour);

/*
 * A function with its file and line, in so many columns: names are cut, not the line's number, and
 * the file as little as can be.
 */
void terminal_place(struct buf *text, const struct place *p, const char *root, size_t columns);

/* What a step spent its time on; nothing where that is not known. */
void terminal_breakdown(struct terminal *s, const struct analysis *a);

/* The verdict and what to fix first; nothing where there is neither. */
void terminal_findings(struct terminal *s, const struct analysis *a);

/* What there is to say of other things, the most important of it in at most `limit` lines. */
void terminal_facts(struct terminal *s, const struct analysis *a, size_t limit);

/* The layers and the functions with most time, in at most so many lines. */
void terminal_tables(struct terminal *s, const struct analysis *a, size_t lines,
		     enum report_detail detail);

#endif
