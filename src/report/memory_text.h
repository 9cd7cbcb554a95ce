/* What the memory's figures mean, in sentences that all reports share. */
#ifndef REPORT_MEMORY_TEXT_H
#define REPORT_MEMORY_TEXT_H

#include "analyze/analysis.h"
#include "base/buf.h"
#include "report/plain_text.h"

/* A sentence without its full stop; it may quote the user's names. */
void memory_text_warning(struct buf *out, const struct analysis *a, const struct memory_warning *w);

/* The same for what matters most; where nothing does, that. */
void memory_text_meaning(struct buf *out, const struct analysis *a);

/* "-1.05 MB" */
const char *memory_text_bytes(char out[TEXT_FIGURE], double bytes);

/* "0.312", "12.3 k" */
const char *memory_text_count(char out[TEXT_FIGURE], double n);

/* "once", "3 times" */
const char *memory_text_times(char out[TEXT_FIGURE], int64_t n);

/* "grows by 1.05 MB (1.04 MB to 1.06 MB)", "steady" */
void memory_text_trend(struct buf *out, const struct trend *t);

/* Its mean, and what it can have been where that is something else. */
void memory_text_per_step(struct buf *out, const struct memory_per_step *p,
			  const char *(*text)(char[TEXT_FIGURE], double));

#endif
