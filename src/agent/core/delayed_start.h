/*
 * A recording that lies ahead (--delay): until it begins the program runs as if we
 * were not there, but for one thread of ours that sleeps.
 *
 * The thread waits for the recorder on a futex, then calls who asked for it, in
 * the order of the slots, and ends.  It takes no signals.  After a fork it is gone
 * in the child: who can asks again there.
 */
#ifndef AGENT_CORE_DELAYED_START_H
#define AGENT_CORE_DELAYED_START_H

#include <stdbool.h>

/* Python first: whoever joins before it would take its process for a native one. */
enum delayed_start_slot {
	DELAYED_START_PYTHON,
	DELAYED_START_GPU,
	DELAYED_START_NVTX,
	DELAYED_START_NATIVE,
	DELAYED_START_SLOTS
};

/*
 * True: the recording that `where` names (see session_join()) lies ahead, and
 * `begin` will be called when it begins or is called off, from the thread.  False:
 * it is on, over, or not there.  Asking again for the same is a no-op.
 */
bool delayed_start_wait(enum delayed_start_slot slot, const char *where, void (*begin)(void));

/*
 * Ends the thread for a while, if it sleeps; delayed_start_wait() brings it back.  For
 * forks: Python from 3.12 on warns of those with several threads.  Waits for the thread, so
 * without the GIL; after WAIT_WITHOUT_GIL_MS it gives up.
 */
void delayed_start_pause(void);

/* It has begun, and whoever asked in this slot has not yet returned from being called. */
bool delayed_start_is_starting(enum delayed_start_slot slot);

/* The thread is there, if only for the kernel. */
bool delayed_start_is_counted(void);

/*
 * After delayed_start_pause(): the recording that lies ahead is not waited for any more, nobody is
 * called. A no-op where the thread has begun, or could not be paused.
 */
void delayed_start_cancel(void);

#endif
