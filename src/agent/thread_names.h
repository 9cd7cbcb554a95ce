/*
 * The names that Python's threading module gives its threads.  With the GIL.
 */
#ifndef AGENT_THREAD_NAMES_H
#define AGENT_THREAD_NAMES_H

#include "agent/ring.h"

/*
 * Looks the calling thread up and names its ring.  threading registers a thread
 * some calls after its first one, so a miss is repeated ever more rarely.
 */
void thread_name_look(struct ring *r);

#endif
