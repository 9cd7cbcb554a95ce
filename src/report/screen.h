/* Text for a terminal: columns, labels and colours, collected before any of it is written. */
#ifndef REPORT_SCREEN_H
#define REPORT_SCREEN_H

#include <stdbool.h>

#include "analyze/analysis.h"
#include "base/buf.h"

#define COLUMN ((size_t)9) /* of a figure */

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

/* Lines that screen_breakdown() takes; 0: it has nothing to say. */
size_t screen_breakdown_lines(const struct analysis *a);
void screen_breakdown(struct screen *s, const struct analysis *a);

/* The verdict and what to fix first; and in how many lines. */
size_t screen_findings_lines(const struct analysis *a);
void screen_findings(struct screen *s, const struct analysis *a);

/* Why the GPU was idle most, in a line; nothing where that is not known. */
void screen_blame(struct screen *s, const struct analysis *a);

#endif
