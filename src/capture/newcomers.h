/*
 * Which processes have appeared since the last look at /proc, with their parents.
 *
 * A look lists all processes, which takes half a microsecond for each, and reads those alone that
 * were not there before.  One that ended and whose number another one got between two looks hides
 * that one.
 */
#ifndef CAPTURE_NEWCOMERS_H
#define CAPTURE_NEWCOMERS_H

#include <stddef.h>
#include <sys/types.h>

struct newcomer {
	pid_t pid, parent;
};

struct newcomers {
	struct newcomer *items; /* of the last look */
	size_t count, cap;
	pid_t *known; /* all of them, in ascending order */
	size_t known_count, known_cap;
	pid_t *before; /* the same before the last look */
	size_t before_count, before_cap;
};

void newcomers_look(struct newcomers *n, const char *root); /* root: "" but in tests */
void newcomers_forget(struct newcomers *n);                 /* to the next look all are new */
void newcomers_release(struct newcomers *n);

#endif
