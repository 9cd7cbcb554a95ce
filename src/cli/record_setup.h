/*
 * The beginning of every recording: all mistakes are reported here, before the workload runs.  The
 * counterpart of report_output.h.
 */
#ifndef CLI_RECORD_SETUP_H
#define CLI_RECORD_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "capture/session/launch.h"
#include "capture/session/recording.h"
#include "capture/session/supervise.h"
#include "cli/config.h"
#include "cli/report_output.h"
#include "cli/workload.h"

struct record_run {
	const struct config *config;
	struct report_output finish;
	struct recording *recording;
	int trace_fd;
	char trace_path[64]; /* to read it: a /proc path, whatever its name is */
	bool fell_short;     /* something asked for cannot be recorded: --strict */
	bool progress;       /* show progress */
};

/*
 * Checks reports and trace, creates the recording.  program: the path of what
 * is run.  command: NULL-terminated, for the report.  Both must stay until the end.
 * -1: a usage error.
 */
int record_setup(struct record_run *b, const struct config *c, const char *program,
		 char *const command[], FILE *summary, struct err *err);

/* The same recording again, of which nothing is kept. */
int record_setup_scratch(struct record_run *b, const struct config *c, struct err *err);

/* --delay and --duration, from now on. */
void record_plan(const struct record_run *b, struct supervisor *s);

/* What the agent is asked to record: enum shm_collect. */
uint32_t record_collect(const struct config *c);

/* The exit status that is written where the workload lives on. */
#define STILL_RUNNING (-1)

/* Ends the recording; prints what went wrong. */
void record_end(struct record_run *b, int status);

/*
 * Writes the reports of a recording that was ended; prints what went wrong.
 * Returns the exit status to use, as record_status().
 */
int record_write_reports(struct record_run *b, int status);

/* `status`, or EXIT_STRICT if something requested is missing and --strict was given. */
int record_status(const struct record_run *b, int status);

/* Without a recording: nothing was run. */
void record_release(struct record_run *b);

/*
 * Shows the progress of the recording in the title of the terminal, because the screen belongs to
 * the workload: a line there would mix with its output.
 */

/* Fits struct supervisor.tick; context is unused. */
void progress_tick(void *context, struct recording *r);

/* Gives the title back; a no-op where none was shown. */
void progress_clear(void);

/*
 * --verify-overhead: measures what recording cost by running the workload again without it.  A
 * short one runs several times, recorded and not recorded in turns.
 */

/* Standard input as it was before the first run. */
struct verify_input {
	bool again;     /* it can be read again: nothing, or a file from `offset` on */
	int64_t offset; /* -1: there is nothing to go back to */
};

void verify_input_init(struct verify_input *in);

/* The recorded run: how it was started and how it went. */
struct verify {
	struct record_run *record_run;
	const struct workload *workload;
	const struct launch_paths *paths;
	const struct signals *before;
	struct verify_input input;
	int status;
	int64_t elapsed_ns;
};

/*
 * Runs the workload again, as often as it takes, and writes the times to the trace
 * as facts, or a note that says why there are none.  The recording must have been
 * stopped.  Signals sent to us go to the run that is under way; one that it ends by
 * ends all of it.
 */
void verify_overhead(const struct verify *v);

#endif
