#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define ATTEMPTS 8   /* at a name for the draft: a second one is needed once in 2^64 */
#define LINKS_MAX 40 /* as many as the kernel follows */

/* Bytes of the folder that a path begins with, the last slash included; 0: none. */
static int folder_bytes(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (int)(slash + 1 - path) : 0;
}

bool outfile_is_trap(const char *path, const struct stat *entry)
{
	int n = folder_bytes(path);
	char text[PATH_MAX];
	struct stat folder;

	snprintf(text, sizeof(text), "%.*s", n ? n : 1, n ? path : ".");
	return !stat(text, &folder) && (folder.st_mode & S_ISVTX) &&
	       (folder.st_mode & (S_IWGRP | S_IWOTH)) && entry->st_uid != geteuid() &&
	       entry->st_uid != folder.st_uid;
}

int outfile_check(const char *path, struct err *err)
{
	struct stat entry;

	if (lstat(path, &entry) || !outfile_is_trap(path, &entry))
		return 0;
	return err_set(err,
		       "cannot write '%s': another user has put it there, where everyone may; "
		       "choose another place",
		       path);
}

static int fail_path(const char *path, struct err *err)
{
	return err_errno(err, "cannot write '%s'", path);
}

int outfile_resolve(char out[PATH_MAX], const char *path, struct err *err)
{
	char target[PATH_MAX], joined[PATH_MAX];

	if (snprintf(out, PATH_MAX, "%s", path) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return fail_path(path, err);
	}
	for (int links = 0; links < LINKS_MAX; links++) {
		ssize_t n;

		if (outfile_check(out, err))
			return -1;
		n = readlink(out, target, sizeof(target) - 1);
		if (n < 0)
			return errno == EINVAL || errno == ENOENT ? 0 : fail_path(path, err);
		target[n] = '\0';
		if (snprintf(joined, sizeof(joined), "%.*s%s",
			     *target == '/' ? 0 : folder_bytes(out), out,
			     target) >= (int)sizeof(joined)) {
			errno = ENAMETOOLONG;
			return fail_path(path, err);
		}
		memcpy(out, joined, sizeof(joined));
	}
	errno = ELOOP;
	return fail_path(path, err);
}

/* Everything but the links that can be known to be wrong before the first byte. */
static int check_target(const struct outfile *o, const char *path, struct err *err)
{
	struct stat st;

	if (!stat(o->path, &st) && S_ISDIR(st.st_mode))
		return err_set(err, "cannot write '%s': it is a directory", path);
	if (!*path || path[strlen(path) - 1] == '/')
		return err_set(err, "cannot write '%s': no such directory", path);
	if (access(o->path, F_OK) == 0 && access(o->path, W_OK))
		return fail_path(path, err);
	return 0;
}

static int open_draft(struct outfile *o)
{
	uint64_t number;
	int n;

	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return -1;
	n = snprintf(o->draft, sizeof(o->draft), "%.*s.inferscope-%016llx.tmp",
		     folder_bytes(o->path), o->path, (unsigned long long)number);
	if (n < 0 || (size_t)n >= sizeof(o->draft)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return open(o->draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

int outfile_open(struct outfile *o, const char *path, struct err *err)
{
	struct stat st;

	o->fd = -1;
	if (outfile_resolve(o->path, path, err) || check_target(o, path, err))
		return -1;
	for (int i = 0; o->fd < 0 && i < ATTEMPTS; i++) {
		o->fd = open_draft(o);
		if (o->fd < 0 && errno != EEXIST)
			break;
	}
	if (o->fd < 0)
		return fail_path(path, err);
	if (!stat(o->path, &st) && st.st_uid == geteuid())
		fchmod(o->fd, st.st_mode & 0777);
	return 0;
}

void outfile_discard(struct outfile *o)
{
	int saved = errno;

	if (o->fd < 0)
		return;
	close(o->fd);
	o->fd = -1;
	unlink(o->draft);
	errno = saved;
}

int outfile_commit(struct outfile *o, struct err *err)
{
	int failed = close(o->fd);

	o->fd = -1;
	if (!failed && !rename(o->draft, o->path))
		return 0;
	err_errno(err, "cannot write '%s'", o->path);
	unlink(o->draft);
	return -1;
}
