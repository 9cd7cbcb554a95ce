/*
 * Living beside a workload: drain, pass signals on, notice the end.
 *
 * A life has three parts: the recording lies ahead (--delay), is on, is over
 * (--duration) while the workload runs on.  The first and the last may be missing.
 */
#ifndef CAPTURE_SESSION_SUPERVISE_H
#define CAPTURE_SESSION_SUPERVISE_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "capture/session/recording.h"

#define SUPERVISE_FOREVER INT64_MAX

enum supervise_part { SUPERVISE_DELAYED, SUPERVISE_ON, SUPERVISE_OVER };

struct supervisor {
	int signals;     /* signalfd */
	sigset_t before; /* our mask, before it was taken over */
	bool wait_children;
	enum supervise_part part;
	int64_t begin_ns;    /* CLOCK_MONOTONIC: when the recording begins */
	int64_t duration_ns; /* how long it lasts then, or SUPERVISE_FOREVER */
	int64_t end_ns;      /* when it ends */
	/* The duration is over; the recording is not touched after it.  Of supervise() only. */
	void (*over)(void *context, struct recording *r);
	pid_t helper;      /* a child of ours that is none of the workload's; 0: none */
	int helper_status; /* as wait(2) gives it, once helper has become 0 */
	/* Called now and then; NULL: not. */
	void (*tick)(void *context, struct recording *r);
	void *context;
};

/* Takes over the signals; before the workload is started. */
int supervisor_init(struct supervisor *s, bool wait_children, struct err *err);

/* The recording, made to lie ahead if delay_ns is not 0, begins and ends by itself. */
void supervisor_plan(struct supervisor *s, int64_t delay_ns, int64_t duration_ns);
void supervisor_release(struct supervisor *s);

/*
 * Until the workload ends (its children too with wait_children).  Signals sent
 * to us go to the workload, unless the terminal has sent them to both already; while
 * only its children are left, one that ends programs ends the waiting.
 * Returns its exit status, 128 + signal when it was killed.
 */
int supervise(struct supervisor *s, pid_t workload, struct recording *r);

/*
 * The same for a process that is not our child: until it dies, stop_fd can be read
 * or the duration is over.
 */
void supervise_other(struct supervisor *s, pid_t pid, int stop_fd, struct recording *r);

#endif
