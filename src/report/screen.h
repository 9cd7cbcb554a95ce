/* Text for a terminal: columns, labels and colours, collected before any of it is written. */
#ifndef REPORT_SCREEN_H
#define REPORT_SCREEN_H

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

struct screen {
	struct buf out;
	size_t width;
	bool colour;
};

void screen_colour(struct screen *s, const char *code);
void screen_plain(struct screen *s);

/* Text in so many columns; what is wider is cut (left) or sticks out (right). */
void screen_left(struct screen *s, const char *text, size_t columns);
void screen_right(struct screen *s, const char *text, size_t columns);

/* What a line is about. */
void screen_label(struct screen *s, const char *name);

/* A text behind its label, in at most so many lines; colour: NULL, none of its own. */
void screen_say(struct screen *s, const char *label, const char *text, size_t lines,
		const char *colour);

/*
 * A function with its file and line, in so many columns: names are cut, not the line's number, and
 * the file as little as can be.
 */
void screen_place(struct buf *text, const struct analysis_place *p, const char *root,
		  size_t columns);

/* What a step spent its time on; nothing where that is not known. */
void screen_breakdown(struct screen *s, const struct analysis *a);

/* The verdict and what to fix first; nothing where there is neither. */
void screen_findings(struct screen *s, const struct analysis *a);

/* What there is to say of other things, the most important of it in at most `limit` lines. */
void screen_facts(struct screen *s, const struct analysis *a, size_t limit);

/* The layers and the functions with most time, in at most so many lines. */
void screen_tables(struct screen *s, const struct analysis *a, size_t lines,
		   enum report_detail detail);

#endif
