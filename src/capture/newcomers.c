#include "capture/newcomers.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "capture/stat_line.h"

static int by_number(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return x < y ? -1 : x > y;
}

/* What there is no memory for is new once more the next time. */
static void list_all(struct newcomers *n, DIR *all)
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

static void read_one(struct newcomers *n, int folder, pid_t pid)
{
	char path[32], text[STAT_LINE_BYTES];
	struct newcomer *grown;
	struct stat_line s;

	snprintf(path, sizeof(path), "%d/stat", (int)pid);
	if (!stat_line_read(&s, folder, path, text))
		return; /* it is gone */
	grown = array_grow(n->items, &n->cap, n->count + 1, sizeof(*grown));
	if (!grown)
		return;
	n->items = grown;
	grown[n->count++] = (struct newcomer){ pid, s.parent };
}

void newcomers_look(struct newcomers *n, const char *root)
{
	struct newcomers was = *n;
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

void newcomers_forget(struct newcomers *n)
{
	n->known_count = 0;
}

void newcomers_release(struct newcomers *n)
{
	free(n->items);
	free(n->known);
	free(n->before);
	memset(n, 0, sizeof(*n));
}
