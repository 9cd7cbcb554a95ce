#include "capture/system/new_processes.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "capture/system/system_source.h"

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

static int by_number(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return x < y ? -1 : x > y;
}

/* What there is no memory for is new once more the next time. */
static void list_all(struct new_processes *n, DIR *all)
{
	struct dirent *e;

	n->known_count = 0;
	while ((e = readdir(all))) {
		long pid = isdigit((unsigned char)e->d_name[0]) ? strtol(e->d_name, NULL, 10) : 0;
		pid_t *grown;

		if (pid <= 0 || pid > INT_MAX)
			continue;
		grown = array_grow(n->known, &n->known_cap, n->known_count + 1, sizeof(*grown));
		if (!grown)
			return;
		n->known = grown;
		grown[n->known_count++] = (pid_t)pid;
	}
	if (n->known_count) /* the kernel lists them in order; a folder on a disk does not */
		qsort(n->known, n->known_count, sizeof(*n->known), by_number);
}

static void read_one(struct new_processes *n, int folder, pid_t pid)
{
	char path[32], text[STAT_LINE_BYTES];
	struct new_process *grown;
	struct stat_line s;

	snprintf(path, sizeof(path), "%d/stat", (int)pid);
	if (!stat_line_read(&s, folder, path, text))
		return; /* it is gone */
	grown = array_grow(n->items, &n->cap, n->count + 1, sizeof(*grown));
	if (!grown)
		return;
	n->items = grown;
	grown[n->count++] = (struct new_process){ pid, s.parent };
}

void new_processes_poll(struct new_processes *n, const char *root)
{
	struct new_processes was = *n;
	char path[PATH_MAX];
	size_t at = 0;
	DIR *all;

	n->count = 0;
	snprintf(path, sizeof(path), "%s/proc", root);
	all = opendir(path);
	if (!all)
		return;
	n->before = was.known;
	n->before_count = was.known_count;
	n->before_cap = was.known_cap;
	n->known = was.before;
	n->known_cap = was.before_cap;
	list_all(n, all);
	for (size_t i = 0; i < n->known_count; i++) {
		while (at < n->before_count && n->before[at] < n->known[i])
			at++;
		if (at == n->before_count || n->before[at] != n->known[i])
			read_one(n, dirfd(all), n->known[i]);
	}
	closedir(all);
}

void new_processes_forget(struct new_processes *n)
{
	n->known_count = 0;
}

void new_processes_release(struct new_processes *n)
{
	free(n->items);
	free(n->known);
	free(n->before);
	memset(n, 0, sizeof(*n));
}
