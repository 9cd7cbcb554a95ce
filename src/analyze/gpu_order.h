/*
 * What counts as the same in the GPU's figures, how equal ones add up, and in
 * which order they are shown.  Comparisons are for qsort(); orders are total, so
 * that the same trace gives the same report.
 */
#ifndef ANALYZE_GPU_ORDER_H
#define ANALYZE_GPU_ORDER_H

#include "analyze/gpu_figures.h"

int gpu_kernel_identity(const void *a, const void *b);
void gpu_kernel_add(void *into, const void *from);
int gpu_kernel_order(const void *a, const void *b);
int gpu_kernel_brief_identity(const void *a, const void *b);
void gpu_kernel_join(void *into, const void *from); /* variants of one brief name */

int gpu_copy_identity(const void *a, const void *b);
void gpu_copy_add(void *into, const void *from);
int gpu_copy_order(const void *a, const void *b);

int gpu_call_identity(const void *a, const void *b);
void gpu_call_add(void *into, const void *from);
int gpu_call_order(const void *a, const void *b);

int gpu_line_identity(const void *a, const void *b);
void gpu_line_add(void *into, const void *from);
int gpu_line_order(const void *a, const void *b);       /* most GPU time first */
int gpu_sync_order(const void *a, const void *b);       /* most time in the calls first */
int gpu_most_calls_first(const void *a, const void *b); /* of struct gpu_line_ref */

int gpu_stream_order(const void *a, const void *b);
int gpu_section_order(const void *a, const void *b);
int gpu_change_order(const void *a, const void *b); /* of refs: by process, then by time */

/* Those of one process in a list in that order. */
const struct gpu_change_ref *gpu_changes_of(const struct gpu_change_ref *changes, size_t n,
					    uint32_t process, size_t *count);

#endif
