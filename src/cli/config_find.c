/* Finding and reading our files; what stands in them is config_file.c's and rules_load.c's. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/config_file.h"

const struct file_kind file_configuration = {
	.what = "configuration",
	.near = ".inferscope.yaml",
	.personal = "config.yaml",
	.option = "--config",
};
const struct file_kind file_rules = {
	.what = "rules",
	.near = ".inferscope_rules.yaml",
	.personal = "rules.yaml",
	.option = "--rules",
};

static int open_named(const struct file_kind *kind, const char *path, int *fd, struct err *err)
{
	*fd = open(path, O_RDONLY | O_CLOEXEC);
	if (*fd < 0)
		return err_errno(err, "cannot read the %s file '%s'", kind->what, path);
	return 0;
}

/*
 * 1: opened; 0: not there.  A file that is there but cannot be read is an error:
 * it was put there to be obeyed.  O_NONBLOCK: never wait for the other end of a
 * FIFO that nobody named.
 */
static int try_open(const struct file_kind *kind, const char *path, int *fd, struct stat *st,
		    struct err *err)
{
	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*fd < 0) {
		int reason = errno;

		if (stat(path, st)) /* also where the folder may not be searched */
			return 0;
		errno = reason;
		return err_errno(err, "cannot read the %s file '%s'", kind->what, path);
	}
	if (fstat(*fd, st))
		err_errno(err, "cannot read the %s file '%s'", kind->what, path);
	else if (S_ISDIR(st->st_mode))
		err_set(err, "the %s file '%s' is a directory", kind->what, path);
	else if (!S_ISREG(st->st_mode))
		err_set(err, "the %s file '%s' is not a regular file", kind->what, path);
	else
		return 1;
	close(*fd);
	*fd = -1;
	return -1;
}

/*
 * A file says which interpreter to start.  One that another user left in a
 * parent directory, /tmp say, must not: it has to belong to the caller, to root
 * or to the owner of the working directory (a mounted project, in a container).
 */
static bool is_trusted(const struct stat *st)
{
	struct stat here;

	return st->st_uid == geteuid() || st->st_uid == 0 ||
	       (!stat(".", &here) && st->st_uid == here.st_uid);
}

static int try_open_trusted(const struct file_kind *kind, const char *path, int *fd,
			    struct err *err)
{
	struct stat st;
	int found = try_open(kind, path, fd, &st, err);

	if (found <= 0 || is_trusted(&st))
		return found;
	close(*fd);
	*fd = -1;
	return err_set(err,
		       "the %s file '%s' belongs to another user; use it with %s, or %s "
		       "/dev/null for none",
		       kind->what, path, kind->option, kind->option);
}

/* The nearest file at or above `dir`, which is cut back on the way. */
static int find_upwards(const struct file_kind *kind, char *dir, char **path, int *fd,
			struct err *err)
{
	size_t len = strlen(dir);

	for (;;) {
		int found;

		while (len && dir[len - 1] == '/')
			len--;
		if (asprintf(path, "%.*s/%s", (int)len, dir, kind->near) < 0) {
			*path = NULL;
			return err_set(err, "out of memory");
		}
		found = try_open_trusted(kind, *path, fd, err);
		if (found)
			return found;
		free(*path);
		*path = NULL;
		if (!len)
			return 0;
		while (len && dir[len - 1] != '/')
			len--;
	}
}

static int find_personal(const struct file_kind *kind, char **path, int *fd, struct err *err)
{
	const char *base = getenv("XDG_CONFIG_HOME");
	const char *below = "";
	struct stat st;
	int found;

	/* The XDG specification has relative paths ignored. */
	if (!base || base[0] != '/') {
		base = getenv("HOME");
		below = "/.config";
		if (!base || base[0] != '/')
			return 0;
	}
	if (asprintf(path, "%s%s/inferscope/%s", base, below, kind->personal) < 0) {
		*path = NULL;
		return err_set(err, "out of memory");
	}
	found = try_open(kind, *path, fd, &st, err);
	if (!found) {
		free(*path);
		*path = NULL;
	}
	return found;
}

static int find(const struct file_kind *kind, char **path, int *fd, struct err *err)
{
	char *dir = getcwd(NULL, 0); /* NULL: it was removed, nothing is above it */
	int found;

	*path = NULL;
	*fd = -1;
	found = dir ? find_upwards(kind, dir, path, fd, err) : 0;
	if (!found)
		found = find_personal(kind, path, fd, err);
	free(dir);
	if (found < 0) {
		free(*path);
		*path = NULL;
		return -1;
	}
	return 0;
}

static int read_all(const struct file_kind *kind, struct buf *out, int fd, const char *path,
		    struct err *err)
{
	for (;;) {
		void *to = buf_reserve(out, 4096);
		ssize_t n;

		if (!to)
			return err_set(err, "out of memory");
		n = read(fd, to, 4096);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(err, "cannot read the %s file '%s'", kind->what, path);
		if (n == 0)
			return 0;
		out->len += (size_t)n;
		if (out->len > CONFIG_FILE_MAX)
			return err_set(err, "the %s file '%s' is larger than 1 MB", kind->what,
				       path);
	}
}

int config_file_load(const struct file_kind *kind, const char *named, char **path, struct buf *text,
		     struct err *err)
{
	int fd = -1, rc;

	*path = NULL;
	if (named) {
		*path = strdup(named);
		rc = *path ? open_named(kind, named, &fd, err) : err_set(err, "out of memory");
	} else {
		rc = find(kind, path, &fd, err);
	}
	if (!rc && fd >= 0)
		rc = read_all(kind, text, fd, *path, err);
	if (fd >= 0)
		close(fd);
	return rc;
}
