/*
 * How far the GPU's figures can be believed: the clocks, what is missing, when
 * nothing was recorded and why.
 */
#ifndef ANALYZE_GPU_GPU_TRUST_H
#define ANALYZE_GPU_GPU_TRUST_H

#include "analyze/analysis.h"
#include "analyze/figures/finding_figures.h"

/* Fills in the GPU's part of a->trust and adds to the notes; needs a->gpu. */
void gpu_trust_collect(struct analysis *a, const struct trace *t, struct notes *n);

#endif
