/*
 * The control group whose limits bind the workload: of ours and those above it the one that has
 * least memory left when the recording begins, and the one that may use the fewest CPUs.
 */
#ifndef CAPTURE_CGROUP_SOURCES_H
#define CAPTURE_CGROUP_SOURCES_H

#include <stdbool.h>

#include "capture/system_source.h"

/* Calls `watch` for each file that the groups have; the path is the callee's to copy. */
void cgroup_sources_find(const char *root,
			 void (*watch)(void *ctx, const struct system_source *s, const char *path),
			 void *ctx);

#endif
