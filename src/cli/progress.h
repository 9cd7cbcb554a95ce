/*
 * That a recording is on, in the title of the terminal: the screen is the
 * workload's.  A line there would stay in parts behind what the workload prints,
 * and would wipe what it has begun to print.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>

#include "capture/recording.h"

/* Does a terminal of this type (TERM; NULL: unknown) have a title? */
bool progress_possible(const char *term);

/* Fits struct supervisor.tick; context is unused. */
void progress_tick(void *context, struct recording *r);

/* Gives the title back; a no-op where none was shown. */
void progress_clear(void);

#endif
