#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define ATTEMPTS 8 /* at a name for the temporary file: a second one is needed once in 2^64 */

static int fail_path(const char *path, struct err *err)
{
	return err_errno(err, "cannot write '%s'", path);
}

bool outfile_is_stdout(const char *path)
{
	return !strcmp(path, "-") || !strcmp(path, "/dev/stdout");
}

bool outfile_is_stream(const char *path)
{
	struct stat st;

	return outfile_is_stdout(path) || (!lstat(path, &st) && S_ISCHR(st.st_mode));
}

int outfile_check_entry(const char *path, const struct stat *entry, struct err *err)
{
	if (S_ISLNK(entry->st_mode))
		return err_set(err,
			       "cannot write '%s': it is a link; give the name of the file that it "
			       "leads to",
			       path);
	if (S_ISDIR(entry->st_mode))
		return err_set(err, "cannot write '%s': it is a directory", path);
	if (!S_ISREG(entry->st_mode))
		return err_set(err, "cannot write '%s': not a regular file", path);
	if (entry->st_uid != geteuid())
		return err_set(err,
			       "cannot write '%s': the file belongs to another user; remove it or "
			       "choose another name",
			       path);
	return 0;
}

int outfile_check(const char *path, struct err *err)
{
	struct stat entry;

	if (lstat(path, &entry))
		return errno == ENOENT ? 0 : fail_path(path, err);
	return outfile_check_entry(path, &entry, err);
}

static int open_temporary(struct outfile *o)
{
	const char *slash = strrchr(o->path, '/');
	uint64_t number;
	int n;

	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return -1;
	n = snprintf(o->builder, sizeof(o->builder), "%.*s.inferscope-%016llx.tmp",
		     slash ? (int)(slash + 1 - o->path) : 0, o->path, (unsigned long long)number);
	if (n < 0 || (size_t)n >= sizeof(o->builder)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return open(o->builder, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

int outfile_open(struct outfile *o, const char *path, struct err *err)
{
	struct stat st;

	o->path = path;
	o->builder[0] = '\0';
	o->fd = -1;
	if (outfile_is_stdout(path)) {
		if (write(STDOUT_FILENO, "", 0) < 0)
			return err_set(err, "cannot write '%s': standard output is closed", path);
		o->fd = STDOUT_FILENO;
		return 0;
	}
	if (outfile_is_stream(path)) {
		o->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW);
		return o->fd < 0 ? fail_path(path, err) : 0;
	}
	if (!*path || path[strlen(path) - 1] == '/')
		return err_set(err, "cannot write '%s': no such directory", path);
	if (outfile_check(path, err))
		return -1;
	if (access(path, F_OK) == 0 && access(path, W_OK))
		return fail_path(path, err);
	for (int i = 0; o->fd < 0 && i < ATTEMPTS; i++) {
		o->fd = open_temporary(o);
		if (o->fd < 0 && errno != EEXIST)
			break;
	}
	if (o->fd < 0)
		return fail_path(path, err);
	if (!lstat(path, &st) && S_ISREG(st.st_mode))
		fchmod(o->fd, st.st_mode & 0777);
	return 0;
}

/* 0, or -1 with errno: what was written may not be there. */
static int close_file(struct outfile *o)
{
	int fd = o->fd;

	o->fd = -1;
	return fd < 0 || fd == STDOUT_FILENO ? 0 : close(fd);
}

void outfile_discard(struct outfile *o)
{
	int saved = errno;

	close_file(o);
	if (*o->builder)
		unlink(o->builder);
	errno = saved;
}

int outfile_commit(struct outfile *o, struct err *err)
{
	if (!close_file(o) && (!*o->builder || !rename(o->builder, o->path)))
		return 0;
	fail_path(o->path, err);
	if (*o->builder)
		unlink(o->builder);
	return -1;
}
