/*
 * Reading this process's memory for the recorder, where the kernel does not let it do so
 * itself (format/shm.h, "Windows").
 *
 * A thread of the agent sleeps until the recorder asks, copies the memory, and sleeps again.
 * It does not use Python and never takes the GIL.  Memory that changes or is freed during the copy
 * is no problem: the kernel reads it and returns an error code.  The thread takes no signals, is
 * paused around each os.fork(), and nothing waits for it at the end.  Its cost is charged to the
 * budget.
 */
#ifndef AGENT_CORE_SELF_READER_H
#define AGENT_CORE_SELF_READER_H

#include "agent/core/session.h"

/*
 * This process has joined and published where its Python keeps its state.  Starts the thread if
 * it is known that the recorder will ask; otherwise an event starts it once the recorder asks.
 */
void self_reader_start(void);

/* Would self_reader_start() start it? */
bool self_reader_is_needed(void);

/* Is there a thread?  Then the next two wait for it. */
bool inside_is_running(void);

/*
 * Ends the thread for a while; true: there was one, and self_reader_resume() brings it back.  For
 * forks: Python from 3.12 on warns of those with several threads.  Waits for the thread, so without
 * the GIL; after WAIT_WITHOUT_GIL_MS it gives up.
 */
bool self_reader_pause(void);
void self_reader_resume(void);

/* The process leaves the recording: ends the thread, before session_leave().  Waits like
 * self_reader_pause(). */
void self_reader_stop(void);

#endif
