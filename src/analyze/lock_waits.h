/*
 * Who waits for a lock, and who has it meanwhile.
 *
 * A look knows the address of what a thread waits for, not who has it.  That is
 * worked out: a thread that waited for a lock and does so no more has got it, and
 * has it until the next one gets it, or at least as long as it is in the function
 * that wanted it: that function is the holder.  A lock that was taken without
 * waiting has the only thread that was not waiting itself; of several, the one that
 * left the function it had been in just when the waiting ended.  The holder is then
 * the innermost function that it was in all the while.  Where neither holds the
 * holder is unknown, and said to be.
 *
 * Waiting for a condition, an event, a queue or the end of a thread is waiting for
 * a lock too, down there, but nobody holds it: it is left out (waits.h).
 */
#ifndef ANALYZE_LOCK_WAITS_H
#define ANALYZE_LOCK_WAITS_H

#include "analyze/look_window.h"
#include "analyze/wait_pairs.h"

/* The window is sorted.  -1: no memory. */
int lock_waits_collect(struct wait_pairs *out, const struct look_window *w, const struct trace *t);

#endif
