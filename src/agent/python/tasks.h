/* Which asyncio task is running in the calling thread.  With the GIL. */
#ifndef AGENT_PYTHON_TASKS_H
#define AGENT_PYTHON_TASKS_H

#include <stdint.h>

/*
 * The task's address, or 0: not in a task.  Two tasks that are alive at the
 * same time differ, which is all that pairing scopes with tasks needs.  Never
 * imports asyncio.  Leaves no exception.
 */
uint64_t tasks_current(void);

#endif
