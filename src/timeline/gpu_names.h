/* Words for what the GPU's records have numbers for: the same in reports and exports. */
#ifndef TIMELINE_GPU_NAMES_H
#define TIMELINE_GPU_NAMES_H

#include "format/record.h"

const char *gpu_copy_name(enum gpu_copy kind);       /* "H2D", "D2H", ..., "other" */
const char *gpu_memory_name(enum gpu_memory memory); /* "pageable", ..., "unknown" */
const char *cuda_call_name(enum cuda_call what);     /* "launch", "copy", ..., "other" */

#endif
