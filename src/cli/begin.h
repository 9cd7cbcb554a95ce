/*
 * The beginning of every recording: everything that can be wrong is found out
 * here, before the workload runs.  The counterpart of finish.h.
 */
#ifndef CLI_BEGIN_H
#define CLI_BEGIN_H

#include <stdbool.h>

#include "base/err.h"
#include "capture/recording.h"
#include "capture/supervise.h"
#include "cli/config.h"
#include "cli/finish.h"

struct begun {
	const struct config *config;
	struct finish finish;
	struct recording *recording;
	int trace_fd;
	char trace_path[64]; /* to read it: a /proc path, whatever its name is */
	bool fell_short;     /* something asked for cannot be recorded: --strict */
	bool progress;       /* show progress */
};

/*
 * Checks reports and trace, warns of what this version cannot honour, creates
 * the recording.  command: NULL-terminated, for the report.  -1: a usage error.
 */
int begin_recording(struct begun *b, const struct config *c, char *const command[], FILE *summary,
		    struct err *err);

/* The same recording again, of which nothing is kept. */
int begin_scratch(struct begun *b, const struct config *c, struct err *err);

/* --delay and --duration, from now on. */
void begun_plan(const struct begun *b, struct supervisor *s);

/* What the agent is asked to record: enum shm_collect. */
uint32_t begun_collect(const struct config *c);

/* The exit status that is written where the workload lives on. */
#define STILL_RUNNING (-1)

/* Ends the recording; prints what went wrong. */
void end_recording(struct begun *b, int status);

/*
 * Writes the reports of a recording that was ended; prints what went wrong.
 * Returns the exit status to use, as begun_status().
 */
int write_reports(struct begun *b, int status);

/* `status`, or EXIT_STRICT where something asked for is missing and --strict was given. */
int begun_status(const struct begun *b, int status);

/* Without a recording: nothing was run. */
void begun_release(struct begun *b);

#endif
