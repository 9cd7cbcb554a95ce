#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct report_backend *const backends[] = {
	&report_markdown,
	&report_json,
	&report_html,
	NULL,
};

const struct report_backend report_html = { .name = "HTML", .extension = ".html" };

static bool is_stdout(const char *path)
{
	return !strcmp(path, "-");
}

/* A device or a pipe: something that must be written in place. */
static bool is_special(const char *path)
{
	struct stat st;

	return is_stdout(path) ||
	       (!stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode));
}

static bool ends_in(const char *path, const char *extension)
{
	size_t n = strlen(path), m = strlen(extension);

	return n > m && !strcasecmp(path + n - m, extension);
}

const struct report_backend *report_backend_for(const char *path, struct err *err)
{
	for (const struct report_backend *const *b = backends; *b; b++) {
		if (!ends_in(path, (*b)->extension))
			continue;
		if ((*b)->render)
			return *b;
		err_set(err, "cannot write '%s': %s reports are not supported yet", path,
			(*b)->name);
		return NULL;
	}
	if (is_special(path))
		return &report_markdown;
	err_set(err, "cannot write '%s': the name of a report must end in .md or .json", path);
	return NULL;
}

enum report_detail report_detail_of(const char *name)
{
	if (name && !strcmp(name, "short"))
		return DETAIL_SHORT;
	return name && !strcmp(name, "full") ? DETAIL_FULL : DETAIL_NORMAL;
}

size_t report_rows(enum report_detail detail, size_t n, size_t short_rows, size_t normal_rows)
{
	size_t limit = detail == DETAIL_SHORT    ? short_rows
		       : detail == DETAIL_NORMAL ? normal_rows
						 : n;

	return n < limit ? n : limit;
}

#define ATTEMPTS 100 /* at a name for the temporary file */

#define LINKS_MAX 40 /* as many as the kernel follows */

/* Where the bytes go while they are incomplete. */
struct target {
	char path[PATH_MAX]; /* the file itself, links followed */
	char temporary[PATH_MAX];
	int fd;
};

/* Replaces a symbolic link by what it names, which need not be there yet. */
static int follow_links(char path[PATH_MAX])
{
	char target[PATH_MAX], joined[PATH_MAX];

	for (int links = 0; links < LINKS_MAX; links++) {
		ssize_t n = readlink(path, target, sizeof(target) - 1);
		const char *slash = strrchr(path, '/');
		int folder = slash ? (int)(slash + 1 - path) : 0;

		if (n < 0)
			return errno == EINVAL || errno == ENOENT ? 0 : -1;
		target[n] = '\0';
		if (snprintf(joined, sizeof(joined), "%.*s%s", *target == '/' ? 0 : folder, path,
			     target) >= (int)sizeof(joined)) {
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(path, joined, sizeof(joined));
	}
	errno = ELOOP;
	return -1;
}

/* A symbolic link keeps pointing to the report, so the file it names is replaced. */
static int resolve(struct target *t, const char *path, struct err *err)
{
	struct stat st;
	int n;

	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		return err_set(err, "cannot write '%s': it is a directory", path);
	if (!*path || path[strlen(path) - 1] == '/')
		return err_set(err, "cannot write '%s': no such directory", path);
	n = snprintf(t->path, sizeof(t->path), "%s", path);
	if (n < 0 || (size_t)n >= sizeof(t->path)) {
		errno = ENAMETOOLONG;
		return err_errno(err, "cannot write '%s'", path);
	}
	if (follow_links(t->path))
		return err_errno(err, "cannot write '%s'", path);
	if (access(t->path, F_OK) == 0 && access(t->path, W_OK))
		return err_errno(err, "cannot write '%s'", path);
	return 0;
}

static int open_temporary(struct target *t, unsigned attempt)
{
	const char *slash = strrchr(t->path, '/');
	int n = snprintf(t->temporary, sizeof(t->temporary), "%.*s.inferscope-%ld-%u.tmp",
			 slash ? (int)(slash + 1 - t->path) : 0, t->path, (long)getpid(), attempt);

	if (n < 0 || (size_t)n >= sizeof(t->temporary)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return open(t->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

static int target_open(struct target *t, const char *path, struct err *err)
{
	struct stat st;

	if (resolve(t, path, err))
		return -1;
	/* Another container that shares the directory may have the same process number. */
	for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
		t->fd = open_temporary(t, attempt);
		if (t->fd >= 0 || errno != EEXIST)
			break;
	}
	if (t->fd < 0)
		return err_errno(err, "cannot write '%s'", path);
	if (!stat(t->path, &st))
		fchmod(t->fd, st.st_mode & 0777);
	return 0;
}

static int target_discard(struct target *t)
{
	int saved = errno;

	if (t->fd >= 0)
		close(t->fd);
	unlink(t->temporary);
	errno = saved;
	return -1;
}

static int write_all(int fd, const char *data, size_t n)
{
	while (n) {
		ssize_t done = write(fd, data, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -1;
		data += done;
		n -= (size_t)done;
	}
	return 0;
}

static int write_special(const char *path, const struct buf *text, struct err *err)
{
	int fd = is_stdout(path) ? STDOUT_FILENO : open(path, O_WRONLY | O_CLOEXEC);
	int rc = fd < 0 ? -1 : write_all(fd, text->data, text->len);

	if (fd >= 0 && fd != STDOUT_FILENO && close(fd) && !rc)
		rc = -1;
	return rc ? err_errno(err, "cannot write '%s'", path) : 0;
}

static int write_file(const char *path, const struct buf *text, struct err *err)
{
	struct target t = { .fd = -1 };

	if (target_open(&t, path, err))
		return -1;
	if (write_all(t.fd, text->data, text->len))
		goto failed;
	if (close(t.fd)) {
		t.fd = -1;
		goto failed;
	}
	t.fd = -1;
	if (rename(t.temporary, t.path))
		goto failed;
	return 0;
failed:
	target_discard(&t);
	return err_errno(err, "cannot write '%s'", path);
}

int report_check_writable(const char *path, struct err *err)
{
	struct target t = { .fd = -1 };

	if (is_stdout(path))
		return write(STDOUT_FILENO, "", 0) < 0
			       ? err_set(err, "cannot write '-': standard output is closed")
			       : 0;
	if (is_special(path)) {
		if (access(path, W_OK))
			return err_errno(err, "cannot write '%s'", path);
		return 0;
	}
	if (target_open(&t, path, err))
		return -1;
	target_discard(&t);
	return 0;
}

int report_write(const struct analysis *a, const char *path, enum report_detail detail,
		 struct err *err)
{
	const struct report_backend *backend = report_backend_for(path, err);
	struct buf text;
	int rc;

	if (!backend)
		return -1;
	buf_init(&text);
	backend->render(&text, a, detail);
	if (text.failed)
		rc = err_set(err, "cannot write '%s': out of memory", path);
	else if (is_special(path))
		rc = write_special(path, &text, err);
	else
		rc = write_file(path, &text, err);
	buf_release(&text);
	return rc;
}
