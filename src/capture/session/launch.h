/*
 * Starting the workload with the agent in its environment.
 */
#ifndef CAPTURE_SESSION_LAUNCH_H
#define CAPTURE_SESSION_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * What a recording does to the signals of its process, and the way back.
 *
 * A reader of our output that is gone or a file that may not grow must not end
 * the recorder: such writes fail and are reported.  The workload gets every
 * signal as it was before.
 */

struct signals {
	sigset_t mask;
	struct sigaction pipe, file_size;
};

/* Remembers how they were, then ignores SIGPIPE and SIGXFSZ. */
void signals_hold(struct signals *before);

/* In the child that is to become the workload. */
void signals_restore(const struct signals *before);

/* Where the parts of an installation lie, found from the running program. */
struct launch_paths {
	char shim[4096];   /* folder of the start-up shim */
	char python[4096]; /* folder that holds the Python package and nothing else; "": none */
	char agent[4096];  /* the agent, for the CUDA driver and NVTX to load */
};

/*
 * Variables that name a library for others to load: the CUDA driver when a program
 * initialises CUDA, NVTX at its first call.  One tool at a time.
 */
#define LAUNCH_CUDA "CUDA_INJECTION64_PATH"
#define LAUNCH_NVTX "NVTX_INJECTION64_PATH"

struct launch_injection {
	const char *variable;
	uint32_t collect;           /* what it is for: enum shm_collect */
	const char *what, *what_is; /* the same in words; and with a verb */
};
extern const struct launch_injection launch_injections[]; /* without a variable at the end */

int launch_find_paths(struct launch_paths *paths, struct err *err);

struct launch_options {
	const struct launch_paths *paths; /* NULL: without the agent */
	const char *where;                /* recording_where() */
	uint32_t collect;                 /* enum shm_collect: what to inject the agent for */
	bool discard;                     /* output goes nowhere */
	bool no_input;
	const struct signals *before; /* as they are to be in the workload */
};

/*
 * Starts argv (searched in PATH) as a child.  Returns its pid; or -1 with the text set and
 * *exec_errno stating whether it was not found or cannot be executed (0: fork failed).
 */
pid_t launch(char *const argv[], const struct launch_options *how, int *exec_errno,
	     struct err *err);

#endif
