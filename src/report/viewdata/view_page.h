/*
 * The data of the interactive timeline, as elements of the HTML page: what the scripts in viewer/
 * draw.
 *
 * Every element is a <script> of a type that no browser runs, and holds base64 of raw DEFLATE.
 * "tl-meta" is JSON: tracks, rows, names, steps, findings, counters, and where the other elements
 * stand in the tree of view_tree.h.  "tl-N" is node N.  No name of the workload's is in the page
 * but inside of these.
 */
#ifndef REPORT_VIEWDATA_VIEW_PAGE_H
#define REPORT_VIEWDATA_VIEW_PAGE_H

#include "analyze/analysis.h"
#include "base/buf.h"

/*
 * Nothing if the analysis requests no timeline, or has no trace.  Out of memory is remembered as
 * in a buf.
 */
void view_page_add(struct buf *out, const struct analysis *a);

#endif
