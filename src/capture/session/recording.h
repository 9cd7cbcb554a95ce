/*
 * One recording: the shared memory, its clock, the drain and the trace file.
 *
 * Used in the same way by `run`, which starts the workload, and by `record`,
 * which a running program asked for.  One thread.
 */
#ifndef CAPTURE_SESSION_RECORDING_H
#define CAPTURE_SESSION_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "capture/drain/drain.h"

struct recording;

struct recording_options {
	uint64_t buffer_bytes;
	uint32_t collect; /* enum shm_collect */
	bool keep_newest; /* --ring */
	bool keep_secrets;
	const char *root; /* where /proc and /sys are, for tests; NULL: where they always are */
	bool memory;      /* and what else the system says */
	enum shm_cpu cpu_mode;
	uint32_t budget_ppm; /* see struct shm_header */
	uint32_t sample_hz;
	bool ahead; /* nothing is recorded until recording_begin() */
};

/* trace_fd: an empty file open for writing; stays the caller's. */
int recording_new(struct recording **out, int trace_fd, const struct recording_options *options,
		  struct err *err);
void recording_free(struct recording *r); /* NULL is a no-op */

/* What agents must have in their environment as SHM_ENV.  Borrowed. */
const char *recording_where(const struct recording *r);

struct trace_writer *recording_writer(struct recording *r);
struct drain *recording_drain(struct recording *r);

/* The workload, our child: its memory is watched, also where no agent joins it. */
void recording_follow(struct recording *r, pid_t workload);

/*
 * Begins one that lay ahead: its time starts here, agents hook in.  No cycle may
 * come before it.
 */
void recording_begin(struct recording *r);

/*
 * Drains once.  When the trace cannot be written any more the agents are asked to
 * stop, the text is kept for recording_trouble(), and further cycles do nothing.
 */
void recording_cycle(struct recording *r);

/* Its time ends here: agents unhook.  Facts and notes may follow before recording_end(). */
void recording_stop(struct recording *r);

/* Ends it: stops it if that was not done, drains the rest, writes the end. */
void recording_end(struct recording *r, int exit_status);

/* What went wrong while recording, one line; NULL: nothing. */
const char *recording_trouble(const struct recording *r);

#endif
