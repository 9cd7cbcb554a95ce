/*
 * Where the files of our control group are, and of the groups above it.  Both versions of control
 * groups; in a container the path may be one of the host that is not to be seen here, and
 * the root is then the container's group.
 */
#ifndef CAPTURE_SYSTEM_CGROUP_PATH_H
#define CAPTURE_SYSTEM_CGROUP_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define CGROUP_FOLDER_MAX (PATH_MAX + 64)

/* The beginning of a small file as text; false: it cannot be read. */
bool small_file_read(char *text, size_t bytes, const char *root, const char *folder,
		     const char *name);

struct cgroup_walk {
	const char *mount;
	char path[PATH_MAX]; /* of the group below the mount */
	bool over;
};

/*
 * root: "" or a folder that plays the part of "/" (tests).  controller: as /proc/self/cgroup
 * has it, "" for version 2.  Both are borrowed, and so is the mount.
 */
void cgroup_walk_init(struct cgroup_walk *w, const char *root, const char *controller,
		      const char *mount);

/* The folder of our group, then those above it up to the root; false: that was all. */
bool cgroup_walk_next(struct cgroup_walk *w, char folder[CGROUP_FOLDER_MAX]);

#endif
