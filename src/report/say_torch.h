/* What PyTorch did besides calling modules, in a line each. */
#ifndef REPORT_SAY_TORCH_H
#define REPORT_SAY_TORCH_H

#include "analyze/torch_figures.h"
#include "base/buf.h"

/* Nothing where there is nothing to say. */
void say_loading(struct buf *out, const struct analysis_torch *t);
void say_compilation(struct buf *out, const struct analysis_torch *t);

#endif
