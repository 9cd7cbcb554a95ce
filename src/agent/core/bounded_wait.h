/*
 * Waiting for another thread: never without a bound, and never with the GIL, which the other thread
 * may need itself, for example inside an allocation under tracemalloc.
 *
 * Every such wait is a call of bounded_wait().  tests/test_agent_waits.py lists all other calls in
 * src/agent that can block, with the reason why each of them is no such wait.
 */
#ifndef AGENT_CORE_BOUNDED_WAIT_H
#define AGENT_CORE_BOUNDED_WAIT_H

#include <stdbool.h>

#define WAIT_WITHOUT_GIL_MS 2000u /* a thread that does not run for so long is stuck */

/*
 * Calls is_done() until it returns true, first at once, then every 20 us to 1 ms.  False: it has
 * not within `most_ms`; the caller must be able to go on without.
 */
bool bounded_wait(bool (*is_done)(void *), void *argument, unsigned most_ms);

#endif
