/*
 * What a recording does to the signals of its process, and the way back.
 *
 * A reader of our output that is gone or a file that may not grow must not end
 * the recorder: such writes fail and are reported.  The workload gets every
 * signal as it was before.
 */
#ifndef CAPTURE_SIGNALS_H
#define CAPTURE_SIGNALS_H

#include <signal.h>

struct signals {
	sigset_t mask;
	struct sigaction pipe, file_size;
};

/* Remembers how they were, then ignores SIGPIPE and SIGXFSZ. */
void signals_hold(struct signals *before);

/* In the child that is to become the workload. */
void signals_restore(const struct signals *before);

#endif
