/*
 * Living beside a workload: drain, pass signals on, notice the end.
 */
#ifndef CAPTURE_SUPERVISE_H
#define CAPTURE_SUPERVISE_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "capture/recording.h"

struct supervisor {
	int signals;     /* signalfd */
	sigset_t before; /* our mask, before it was taken over */
	bool wait_children;
	/* Called now and then; NULL: not. */
	void (*tick)(void *context, struct recording *r);
	void *context;
};

/* Takes over the signals; before the workload is started. */
int supervisor_init(struct supervisor *s, bool wait_children, struct err *err);
void supervisor_release(struct supervisor *s);

/*
 * Until the workload ends (its children too with wait_children).  Signals sent
 * to us go to the workload, unless the terminal has sent them to both already.
 * Returns its exit status, 128 + signal when it was killed.
 */
int supervise(struct supervisor *s, pid_t workload, struct recording *r);

/* The same for a process that is not our child: until it dies or stop_fd can be read. */
void supervise_other(struct supervisor *s, pid_t pid, int stop_fd, struct recording *r);

#endif
