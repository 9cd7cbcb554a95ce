/* The plots of the page, each behind the heading of its chapter; nothing where nothing is known. */
#ifndef REPORT_HTML_PLOTS_H
#define REPORT_HTML_PLOTS_H

#include "report/report.h"

/* For html_body(); the context is the struct html_plots. */
struct html_plots {
	const struct analysis *analysis;
	size_t gpu_chapters; /* so far: the next one is of that section */
};

void html_plots_add(struct buf *out, const char *heading, size_t n, void *context);

/* Style rules that give the items of the breakdown's list the colours of its bar. */
void html_plots_key(struct buf *out, const struct analysis *a, enum report_detail detail);

#endif
