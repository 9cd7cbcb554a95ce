#include "capture/system/cgroup_path.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool small_file_read(char *text, size_t bytes, const char *root, const char *folder,
		     const char *name)
{
	char path[PATH_MAX];
	size_t have = 0;
	ssize_t n = -1;
	int fd;

	if (snprintf(path, sizeof(path), "%s%s/%s", root, folder, name) >= (int)sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while (have < bytes - 1 && (n = read(fd, text + have, bytes - 1 - have)) > 0)
		have += (size_t)n;
	close(fd);
	text[have] = '\0';
	return n >= 0;
}

/* Is the controller one of a list separated by commas, which ends at a colon? */
static bool lists(const char *list, const char *controller)
{
	size_t n = strlen(controller);

	if (!n)
		return *list == ':';
	for (;; list++) {
		size_t word = strcspn(list, ",:\n");

		if (word == n && !strncmp(list, controller, n))
			return true;
		list += word;
		if (*list != ',')
			return false;
	}
}

/* Our group's path: the text behind "NUMBER:CONTROLLERS:". */
static bool find_group(char path[PATH_MAX], const char *groups, const char *controller)
{
	for (const char *line = groups; line && *line; line = strchr(line, '\n')) {
		const char *list, *at;

		line += *line == '\n';
		list = strchr(line, ':');
		at = list ? strchr(list + 1, ':') : NULL;
		if (at && lists(list + 1, controller)) {
			snprintf(path, PATH_MAX, "%.*s", (int)strcspn(at + 1, "\n"), at + 1);
			return true;
		}
	}
	return false;
}

void cgroup_walk_init(struct cgroup_walk *w, const char *root, const char *controller,
		      const char *mount)
{
	char groups[PATH_MAX];

	w->mount = mount;
	w->over = !small_file_read(groups, sizeof(groups), root, "/proc/self", "cgroup") ||
		  !find_group(w->path, groups, controller);
}

bool cgroup_walk_next(struct cgroup_walk *w, char folder[CGROUP_FOLDER_MAX])
{
	char *slash;

	if (w->over)
		return false;
	slash = strrchr(w->path, '/');
	if (slash && !slash[1]) /* "/" itself */
		*slash = '\0';
	snprintf(folder, CGROUP_FOLDER_MAX, "%s%s", w->mount, w->path);
	slash = strrchr(w->path, '/');
	if (slash)
		*slash = '\0';
	else
		w->over = true;
	return true;
}
