/*
 * The beginning of every recording: everything that can be wrong is found out
 * here, before the workload runs.  The counterpart of finish.h.
 */
#ifndef CLI_BEGIN_H
#define CLI_BEGIN_H

#include <stdbool.h>

#include "base/err.h"
#include "capture/recording.h"
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

/*
 * Ends the recording and writes the reports; prints what went wrong.  Returns
 * the exit status to use: `status`, or EXIT_STRICT.
 */
int finish_recording(struct begun *b, int status);

/* Without a recording: nothing was run. */
void begun_release(struct begun *b);

#endif
