/*
 * For LD_PRELOAD into a Python: the first memory that a thread other than the main one asks for
 * comes late, LATE_THREAD_MS after that.  By then the interpreter may be gone; to go on would be to
 * use it all the same, so the program is aborted.  A process that has such a thread does not end
 * before that.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void *malloc(size_t bytes);
EXPORT void *calloc(size_t count, size_t bytes);

/* glibc's own. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);

static _Atomic int late; /* threads */
static __thread int asked;

static void sleep_ms(long ms)
{
	const struct timespec pause = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&pause, NULL);
}

static void come_late(void)
{
	const char *ms = getenv("LATE_THREAD_MS");
	int (*is_there)(void);

	if (asked++ || !ms || syscall(SYS_gettid) == getpid())
		return;
	*(void **)&is_there = dlsym(RTLD_DEFAULT, "Py_IsInitialized");
	if (!is_there)
		return;
	atomic_fetch_add(&late, 1);
	sleep_ms(strtol(ms, NULL, 10));
	if (!is_there())
		abort();
	atomic_fetch_sub(&late, 1);
}

void *malloc(size_t bytes)
{
	come_late();
	return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	come_late();
	return __libc_calloc(count, bytes);
}

static __attribute__((destructor)) void wait_for_them(void)
{
	while (atomic_load(&late))
		sleep_ms(10);
}
