/*
 * PyTorch's own cache of device memory: what it has got from CUDA, what of that is in use, how
 * often it had to ask twice or could not give, as RECORD_SERIES.
 *
 * PyTorch is asked by the function behind torch.cuda.memory_stats(), which copies some counters and
 * makes a dict of them.  It calls nothing of CUDA and runs no Python code, so it may be asked while
 * a graph is captured; it takes the cache's lock, as every allocation does.  That happens in a
 * thread of the program that has the GIL and has come by anyway, once a second or, where it takes
 * long, so much less often that it is lost in the noise; what it takes is charged.  Nothing is
 * imported or initialised: a program that has not used torch.cuda is not asked, nor a fork of one
 * that has.
 *
 * Who comes by: the ends of modules, of garbage collections and of scopes, and now and then a call
 * that is recorded.  A program that has none of them for a while is asked when it ends; nobody
 * takes the GIL from it, nor makes its interpreter do something, to ask.
 */
#ifndef AGENT_TORCH_TORCH_MEMORY_H
#define AGENT_TORCH_TORCH_MEMORY_H

#include "agent/core/ring.h"

/* With the GIL, as often as one likes; a pending exception stays. */
void torch_memory_poll(struct ring *r);

/* The same for who comes by many times a millisecond: looks at the clock now and then only. */
void torch_memory_poll_seldom(struct ring *r);

/* PyTorch initialises CUDA: the end of the program is to be told, so that there is a last look. */
void torch_memory_poll_at_exit(struct ring *r);

/* The recording or the program is about to end: whatever the clock says. */
void torch_memory_poll_last(struct ring *r);

#endif
