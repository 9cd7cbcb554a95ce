/*
 * --verify-overhead: what recording really cost, by running the workload again
 * without it.  A short one is run several times, recorded and not in turns.
 */
#ifndef CLI_VERIFY_H
#define CLI_VERIFY_H

#include <stdint.h>

#include "capture/launch.h"
#include "capture/signals.h"
#include "cli/begin.h"
#include "cli/workload.h"

/* Standard input as it was before the first run. */
struct verify_input {
	bool again;     /* it can be read again: nothing, or a file from `offset` on */
	int64_t offset; /* -1: there is nothing to go back to */
};

void verify_input_init(struct verify_input *in);

/* The recorded run: how it was started and how it went. */
struct verify {
	struct begun *begun;
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
