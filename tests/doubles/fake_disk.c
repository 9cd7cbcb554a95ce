/*
 * A disk for LD_PRELOAD on which the user has little room: pwrite(), with which the
 * recorder writes the trace, fails with FAKE_DISK_ERRNO behind the first
 * FAKE_DISK_BYTES of a file.  The write before that is short, as it is at the limit of a
 * real quota.  Every other program is let alone.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at);
EXPORT ssize_t pwrite64(int fd, const void *data, size_t bytes, off_t at);

static size_t number(const char *name)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 10) : 0;
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at)
{
	ssize_t (*real)(int, const void *, size_t, off_t) =
		(ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
	size_t limit = number("FAKE_DISK_BYTES");

	if (strcmp(program_invocation_short_name, "inferscope") != 0)
		return real(fd, data, bytes, at);
	if ((size_t)at >= limit) {
		errno = (int)number("FAKE_DISK_ERRNO");
		return -1;
	}
	if (bytes > limit - (size_t)at)
		bytes = limit - (size_t)at;
	return real(fd, data, bytes, at);
}

ssize_t pwrite64(int fd, const void *data, size_t bytes, off_t at)
{
	return pwrite(fd, data, bytes, at);
}
