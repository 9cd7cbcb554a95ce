/*
 * Plots as inline SVG.  Colours and fonts are the page's (assets/report.css), so that they follow
 * light and dark; every plot has a text that says what it shows.  Texts that are given are HTML:
 * the user's are escaped already (html_put.h).
 */
#ifndef REPORT_SVG_PLOT_H
#define REPORT_SVG_PLOT_H

#include "analyze/curve.h"
#include "base/buf.h"
#include "report/plain_text.h"

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

/* Heights over time: from the least to the greatest in each stretch. */
void svg_curve(struct buf *out, const struct svg_axes *axes, const struct curve *c);

/* Nothing where all last the same. */
void svg_histogram(struct buf *out, const char *label, const struct histogram *h);

#endif
