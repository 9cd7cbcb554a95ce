/* The line on a terminal that says that a recording is on. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "capture/recording.h"

/* Fits struct supervisor.tick; context is unused. */
void progress_tick(void *context, struct recording *r);

/* Wipes the line; a no-op where none was shown. */
void progress_clear(void);

#endif
