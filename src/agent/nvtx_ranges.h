/*
 * NVTX ranges and marks on the timeline, and what a program's NVTX calls for the rest
 * of its interface: tables for nvtx_inject.c, by the numbers of nvtx_abi.h.
 *
 * Any thread, no lock; a call allocates only for a name or a depth that was not seen
 * before.  While nothing is recorded it is two loads and a branch.
 */
#ifndef AGENT_NVTX_RANGES_H
#define AGENT_NVTX_RANGES_H

#include "agent/nvtx_abi.h"

extern const nvtx_function nvtx_core[NVTX_CORE_NAME_THREAD_W + 1];
extern const nvtx_function nvtx_core2[NVTX_CORE2_INITIALIZE + 1];

/* In the child of a fork: ranges that its parent started are not this process's to end. */
void nvtx_ranges_forked(void);

#endif
