/*
 * The Python stack of the calling thread as one number.  Needs no GIL.
 */
#ifndef AGENT_STACKS_H
#define AGENT_STACKS_H

#include "agent/ring.h"

/*
 * The id of the stack; what it consists of is defined the first time it is seen,
 * the line tables of its functions too.  0: no Python here, or no room.
 */
uint32_t stacks_current(struct ring *r);

#endif
