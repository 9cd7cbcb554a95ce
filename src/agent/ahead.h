/*
 * A recording that lies ahead (--delay): until it begins the program runs as if we
 * were not there, but for one thread of ours that sleeps.
 *
 * The thread waits for the recorder on a futex, then calls who asked for it, in
 * the order of the slots, and ends.  It takes no signals.  After a fork it is gone
 * in the child: who can asks again there.
 */
#ifndef AGENT_AHEAD_H
#define AGENT_AHEAD_H

#include <stdbool.h>

/* Python first: whoever joins before it would take its process for a native one. */
enum ahead_slot { AHEAD_PYTHON, AHEAD_GPU, AHEAD_NVTX, AHEAD_NATIVE, AHEAD_SLOTS };

/*
 * True: the recording that `where` names (see session_join()) lies ahead, and
 * `begin` will be called when it begins or is called off, from the thread.  False:
 * it is on, over, or not there.  Asking again for the same is a no-op.
 */
bool ahead_wait(enum ahead_slot slot, const char *where, void (*begin)(void));

/*
 * Ends the thread for a while, if it sleeps; ahead_wait() brings it back.  For
 * forks: Python from 3.12 on warns of those with several threads.
 */
void ahead_pause(void);

/* It has begun, and whoever asked in this slot has not yet returned from being called. */
bool ahead_begins(enum ahead_slot slot);

/* The thread is there, if only for the kernel. */
bool ahead_is_counted(void);

/* The recording that lies ahead is not waited for any more; nobody is called, unless it has begun.
 */
void ahead_cancel(void);

#endif
