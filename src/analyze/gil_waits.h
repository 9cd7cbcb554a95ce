/* Who waits for the interpreter's lock, and who has it meanwhile. */
#ifndef ANALYZE_GIL_WAITS_H
#define ANALYZE_GIL_WAITS_H

#include "analyze/look_window.h"
#include "analyze/wait_pairs.h"

/* The window is sorted.  -1: no memory. */
int gil_waits_collect(struct wait_pairs *out, const struct look_window *w, const struct trace *t);

#endif
