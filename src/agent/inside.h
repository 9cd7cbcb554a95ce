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
#ifndef AGENT_INSIDE_H
#define AGENT_INSIDE_H

#include "agent/session.h"

/*
 * This process has joined, and tells where its Python is.  Starts the thread if it is
 * known already that the recorder will ask; else some event will, once it does.
 */
void inside_begin(void);

/* Would inside_begin() start it? */
bool inside_is_needed(void);

/*
 * Ends the thread for a while; true: there was one, and inside_resume() brings it back.  For forks:
 * Python from 3.12 on warns of those with several threads.  With the GIL.
 */
bool inside_pause(void);
void inside_resume(void);

/* The process leaves the recording: ends the thread, before session_leave(). */
void inside_end(void);

#endif
