/*
 * CUDA graphs, instance by instance: how often each ran, how long that took, where it
 * was captured and launched.
 */
#ifndef ANALYZE_GPU_GRAPHS_H
#define ANALYZE_GPU_GRAPHS_H

#include "analyze/gpu_sections.h"

/* Fills graphs and graph_count of every section.  -1: out of memory. */
int gpu_graphs_collect(struct analysis_gpu *gpu);

#endif
