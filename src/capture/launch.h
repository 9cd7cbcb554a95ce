/*
 * Starting the workload with the agent in its environment.
 */
#ifndef CAPTURE_LAUNCH_H
#define CAPTURE_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "capture/signals.h"

/* Where the parts of an installation lie, found from the running program. */
struct launch_paths {
	char shim[4096];   /* folder of the start-up shim */
	char python[4096]; /* folder that holds the Python package and nothing else; "": none */
	char agent[4096];  /* the agent, for the CUDA driver to load */
};

/* The CUDA driver loads the library that this names when a program initialises CUDA. */
#define LAUNCH_INJECTION "CUDA_INJECTION64_PATH"

int launch_find_paths(struct launch_paths *paths, struct err *err);

struct launch_options {
	const struct launch_paths *paths; /* NULL: without the agent */
	const char *where;                /* recording_where() */
	bool gpu;                         /* inject into CUDA, unless another tool is already */
	bool discard;                     /* output goes nowhere */
	bool no_input;
	const struct signals *before; /* as they are to be in the workload */
};

/*
 * Starts argv (found through PATH) as a child.
 * Returns its pid; or -1 with the text set and *exec_errno telling whether it
 * could not be found or not be executed (0: could not even be forked).
 */
pid_t launch(char *const argv[], const struct launch_options *how, int *exec_errno,
	     struct err *err);

#endif
