/*
 * Which frame of a stack is the place that a user can change.
 *
 * It is the innermost one of the user's own code.  A program that is installed (a console script,
 * `python -m package`, a tool that another one starts) has none: there it is the innermost frame of
 * the outermost package that is more than a host.  Hosts only start what others wrote: servers,
 * runners, notebooks.
 */
#ifndef TIMELINE_CODE_OWNER_H
#define TIMELINE_CODE_OWNER_H

#include <stdbool.h>
#include <stddef.h>

#include "format/trace.h"

/*
 * Is it the user's own?  As user_code(), but without the module of a console script, whose two
 * lines an installer wrote.
 */
bool user_frame(const char *name, const char *file);

/* Is it in an installed package that runs code of others? */
bool host_code(const char *file);

/* Is it what starts an installed program: a console script's module, the runpy module? */
bool launcher_frame(const char *name, const char *file);

/*
 * The position of that frame, frames[0] being the innermost; `count`: no frame's code is known.
 * Of a stack with frames of hosts and the standard library only it is the innermost host's, else
 * the innermost.
 */
size_t stack_owner(const struct trace *t, const struct trace_frame *frames, size_t count);

#endif
