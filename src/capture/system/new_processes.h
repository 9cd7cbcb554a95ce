/*
 * Which processes have appeared since the last reading of /proc, with their parents.
 *
 * A reading lists all processes, which takes half a microsecond for each, and reads those alone
 * that were not there before.  One that ended and whose number another one got between two readings
 * hides that one.
 */
#ifndef CAPTURE_SYSTEM_NEW_PROCESSES_H
#define CAPTURE_SYSTEM_NEW_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct new_process {
	pid_t pid, parent;
};

struct new_processes {
	struct new_process *items; /* of the last reading */
	size_t count, cap;
	pid_t *known; /* all of them, in ascending order */
	size_t known_count, known_cap;
	pid_t *before; /* the same before the last reading */
	size_t before_count, before_cap;
};

void new_processes_poll(struct new_processes *n, const char *root); /* root: "" but in tests */
void new_processes_forget(struct new_processes *n); /* to the next reading all are new */
void new_processes_release(struct new_processes *n);

/* The beginning of /proc/PID/stat: "PID (NAME) STATE PARENT ...". */

#define STAT_LINE_BYTES 1024 /* enough for all of it */

struct stat_line {
	char name[64]; /* as the kernel has it, which may hold anything; cut */
	char state;
	pid_t parent;
};

/* False: it is no such line. */
bool stat_line_parse(struct stat_line *s, const char *text);

/* The same of a file below an open folder; false: it is gone, or unreadable. */
bool stat_line_read(struct stat_line *s, int folder, const char *path, char text[STAT_LINE_BYTES]);

static inline bool stat_line_is_alive(const struct stat_line *s)
{
	return s->state != 'Z' && s->state != 'X';
}

#endif
