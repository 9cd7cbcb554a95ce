/* The beginning of /proc/PID/stat: "PID (NAME) STATE PARENT ...". */
#ifndef CAPTURE_STAT_LINE_H
#define CAPTURE_STAT_LINE_H

#include <stdbool.h>
#include <sys/types.h>

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
