/* What --verify-overhead found: times of whole runs with and without recording. */
#ifndef ANALYZE_VERIFIED_H
#define ANALYZE_VERIFIED_H

#include "analyze/analysis.h"
#include "analyze/notes.h"
#include "format/trace.h"

void verified_collect(struct analysis_verified *v, const struct trace *t, struct notes *n);

#endif
