/*
 * A recording that begins later (--delay): until then nothing is hooked, and one thread of the
 * agent sleeps.
 *
 * The thread waits for the recorder on a futex, then runs the registered callbacks in the order of
 * their slots, and ends.  It takes no signals.  A fork does not copy it: code that runs in the
 * child registers again.
 */
#ifndef AGENT_CORE_DELAYED_START_H
#define AGENT_CORE_DELAYED_START_H

#include <stdbool.h>

/* Python first: a slot that joined before it would register the process as a native one. */
enum delayed_start_slot {
	DELAYED_START_PYTHON,
	DELAYED_START_GPU,
	DELAYED_START_NVTX,
	DELAYED_START_NATIVE,
	DELAYED_START_SLOTS
};

/*
 * True: the recording that `where` names (see session_join()) has not begun, and
 * the thread will call `begin` when it begins or is cancelled.  False: it is on, over, or does not
 * exist.  Registering the same again is a no-op.
 */
bool delayed_start_wait(enum delayed_start_slot slot, const char *where, void (*begin)(void));

/*
 * Ends the thread for a while, if it sleeps; delayed_start_wait() brings it back.  For
 * forks: Python from 3.12 on warns of those with several threads.  Waits for the thread, so
 * without the GIL; after WAIT_WITHOUT_GIL_MS it gives up.
 */
void delayed_start_pause(void);

/* The recording has begun, and the callback of this slot has not returned yet. */
bool delayed_start_is_starting(enum delayed_start_slot slot);

/* The thread exists, if only for the kernel. */
bool delayed_start_is_counted(void);

/*
 * After delayed_start_pause(): stops waiting for the recording; no callback is called.
 * A no-op if the callbacks are running already, or the thread could not be paused.
 */
void delayed_start_cancel(void);

#endif
