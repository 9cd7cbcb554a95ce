/*
 * The Python stack of the calling thread as one number.  Needs no GIL.
 */
#ifndef AGENT_PYTHON_CALL_STACKS_H
#define AGENT_PYTHON_CALL_STACKS_H

#include <stdint.h>

#include "agent/core/ring.h"

/*
 * The id of the stack; what it consists of is defined the first time it is seen,
 * the line tables of its functions too.  0: no Python here, or no room.
 */
uint32_t stacks_current(struct ring *r);

/*
 * Line tables of 3.11 and later contain columns too.  They are not needed, and they make the
 * tables of large functions too long for a definition.
 */

#define LINE_PACK_MINOR 10u /* the CPython 3 whose format the result has */

/*
 * Writes the table (of 3.11 or later) as 3.10 would have, without columns, to
 * `out`.  Returns its bytes; 0: more than `max`, or not a line table.
 */
uint32_t line_pack(uint8_t *out, uint32_t max, const uint8_t *table, uint32_t bytes);

#endif
