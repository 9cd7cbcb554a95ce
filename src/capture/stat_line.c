#include "capture/stat_line.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture/system_source.h"

bool stat_line_parse(struct stat_line *s, const char *text)
{
	const char *name = strchr(text, '('), *end = strrchr(text, ')');
	int64_t parent;

	if (!name || !end || end < name || end[1] != ' ' || !end[2] || end[3] != ' ' ||
	    !text_number(end + 4, &parent) || parent > INT_MAX)
		return false;
	snprintf(s->name, sizeof(s->name), "%.*s", (int)(end - name - 1), name + 1);
	s->state = end[2];
	s->parent = (pid_t)parent;
	return true;
}

bool stat_line_read(struct stat_line *s, int folder, const char *path, char text[STAT_LINE_BYTES])
{
	int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, STAT_LINE_BYTES - 1) : -1;

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0 && stat_line_parse(s, text);
}
