/*
 * Reading this process's memory for the recorder, where the kernel does not let it do so
 * itself (format/shm.h, "Windows").
 *
 * A thread of ours sleeps until it is asked, copies what is wanted, and sleeps again.
 * It knows nothing of Python and never takes the GIL; what it reads may change or go
 * away meanwhile: only the kernel touches it, for whom that is an error code.  It takes no signals,
 * is gone around each os.fork(), and nobody waits for it at the end.  What it costs is charged to
 * the budget.
 */
#ifndef AGENT_CORE_SELF_READER_H
#define AGENT_CORE_SELF_READER_H

#include "agent/core/session.h"

/*
 * This process has joined, and tells where its Python is.  Starts the thread if it is
 * known already that the recorder will ask; else some event will, once it does.
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
