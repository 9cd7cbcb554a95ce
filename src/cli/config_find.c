/* Finding and reading our files; what stands in them is config_file.c's and report_output.c's. */
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
	.users = "config.yaml",
	.option = "--config",
};
const struct file_kind file_rules = {
	.what = "rules",
	.near = ".inferscope_rules.yaml",
	.users = "rules.yaml",
	.option = "--rules",
};

/*
 * 1: opened; 0: not there.  A file that is there but cannot be read is an error:
 * it was put there to be used.  O_NONBLOCK: never wait for the other end of a
 * FIFO.
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
	return -1;
}

/*
 * A file that another user left in a parent directory, /tmp say, is not obeyed: it has to belong
 * to the caller, to root or to the owner of the working directory (a mounted project, in a
 * container).
 */
static bool is_near_owner(const struct stat *st)
{
	struct stat here;

	return st->st_uid == geteuid() || st->st_uid == 0 ||
	       (!stat(".", &here) && st->st_uid == here.st_uid);
}

static int try_open_near(const struct file_kind *kind, const char *path, int *fd, struct err *err)
{
	struct stat st;
	int found = try_open(kind, path, fd, &st, err);

	if (found <= 0 || is_near_owner(&st))
		return found;
	close(*fd);
	return err_set(err,
		       "the %s file '%s' belongs to another user; use it with %s, or %s "
		       "/dev/null for none",
		       kind->what, path, kind->option, kind->option);
}

/* The user's own file may name programs to run: it has to be the user's, or root's. */
static int try_open_users(const struct file_kind *kind, const char *path, int *fd, struct err *err)
{
	struct stat st;
	int found = try_open(kind, path, fd, &st, err);

	if (found <= 0)
		return found;
	if (st.st_uid != geteuid() && st.st_uid != 0)
		err_set(err,
			"the %s file '%s' belongs to another user; make it yours, or set "
			"XDG_CONFIG_HOME to a folder of your own",
			kind->what, path);
	else if (st.st_mode & S_IWOTH)
		err_set(err, "the %s file '%s' can be written by every user; run chmod o-w on it",
			kind->what, path);
	else
		return 1;
	close(*fd);
	return -1;
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

void found_file_release(struct found_file *f)
{
	free(f->path);
	f->path = NULL;
	buf_release(&f->text);
}

/* Fills in *f from fd, which is closed.  Takes over `path`. */
static int take(struct found_file *f, const struct file_kind *kind, char *path, int fd,
		struct err *err)
{
	int rc;

	f->path = path;
	rc = read_all(kind, &f->text, fd, path, err);
	close(fd);
	if (rc)
		found_file_release(f);
	return rc;
}

static void found_file_init(struct found_file *f)
{
	f->path = NULL;
	buf_init(&f->text);
}

int config_file_open(struct found_file *f, const struct file_kind *kind, const char *path,
		     struct err *err)
{
	char *copy = strdup(path);
	int fd;

	found_file_init(f);
	if (!copy)
		return err_set(err, "out of memory");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		free(copy);
		return err_errno(err, "cannot read the %s file '%s'", kind->what, path);
	}
	return take(f, kind, copy, fd, err);
}

typedef int (*opener)(const struct file_kind *kind, const char *path, int *fd, struct err *err);

/* 1: there is such a file, and *f is filled in; 0: there is none; -1: an error. */
static int try_file(struct found_file *f, const struct file_kind *kind, opener try, char *path,
		    struct err *err)
{
	int fd, found = try(kind, path, &fd, err);

	if (found > 0)
		return take(f, kind, path, fd, err) ? -1 : 1;
	free(path);
	return found;
}

int config_file_find(struct found_file *f, const struct file_kind *kind, struct err *err)
{
	char *dir = getcwd(NULL, 0); /* NULL: it was removed, nothing is above it */
	size_t len = dir ? strlen(dir) : 0;
	int found = 0;

	found_file_init(f);
	while (dir && !found) {
		char *path;

		while (len && dir[len - 1] == '/')
			len--;
		if (asprintf(&path, "%.*s/%s", (int)len, dir, kind->near) < 0)
			found = err_set(err, "out of memory");
		else
			found = try_file(f, kind, try_open_near, path, err);
		if (!len)
			break;
		while (len && dir[len - 1] != '/')
			len--;
	}
	free(dir);
	return found < 0 ? -1 : 0;
}

int config_file_find_users(struct found_file *f, const struct file_kind *kind, struct err *err)
{
	const char *base = getenv("XDG_CONFIG_HOME");
	const char *below = "";
	char *path;

	found_file_init(f);
	/* The XDG specification has relative paths ignored. */
	if (!base || base[0] != '/') {
		base = getenv("HOME");
		below = "/.config";
		if (!base || base[0] != '/')
			return 0;
	}
	if (asprintf(&path, "%s%s/inferscope/%s", base, below, kind->users) < 0)
		return err_set(err, "out of memory");
	return try_file(f, kind, try_open_users, path, err) < 0 ? -1 : 0;
}
