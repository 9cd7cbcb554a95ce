/*
 * NVTX's functions as a program calls them: tables for nvtx_inject.c, by the numbers of
 * nvtx_abi.h.  Any thread, no lock.
 */
#ifndef AGENT_NVTX_CALLS_H
#define AGENT_NVTX_CALLS_H

#include "agent/nvtx_abi.h"

extern const nvtx_function nvtx_core[NVTX_CORE_NAME_THREAD_W + 1];
extern const nvtx_function nvtx_core2[NVTX_CORE2_INITIALIZE + 1];

#endif
