/*
 * PyTorch's own cache of device memory as RECORD_SERIES: bytes reserved from CUDA, bytes in use,
 * retries and failures of allocations.
 *
 * The source is the function behind torch.cuda.memory_stats(), which copies some counters into a
 * dict.  It calls nothing of CUDA and runs no Python code, so it may be called while a graph is
 * captured; it takes the cache's lock, as every allocation does.  It is called in a thread of the
 * program that has the GIL and is in one of our hooks, once a second, or less often where the call
 * takes long; its cost is charged.  Nothing is imported or initialised: it is not called in a
 * program that has not used torch.cuda, nor in a fork of one that has.
 *
 * Such hooks are the ends of modules, garbage collections and scopes, and now and then a recorded
 * call.  A program without any of them is polled when it ends; the GIL is never taken for this.
 */
#ifndef AGENT_TORCH_TORCH_MEMORY_H
#define AGENT_TORCH_TORCH_MEMORY_H

#include "agent/core/ring.h"

/* With the GIL, as often as one likes; a pending exception stays. */
void torch_memory_poll(struct ring *r);

/* The same for hooks that run many times a millisecond: reads the clock only now and then. */
void torch_memory_poll_seldom(struct ring *r);

/* PyTorch initialises CUDA: polls once more when the program ends. */
void torch_memory_poll_at_exit(struct ring *r);

/* The recording or the program is about to end: whatever the clock says. */
void torch_memory_poll_last(struct ring *r);

#endif
