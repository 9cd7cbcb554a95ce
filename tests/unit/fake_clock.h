/*
 * A monotonic clock that only the test moves, for the code that is linked into it: CLOCK_MONOTONIC
 * stands still until fake_clock_pass(), and to sleep is to let that much time pass.  The other
 * clocks are the kernel's.  It starts at the kernel's time, so that a thread which waits until a
 * moment of this clock does not spin.
 */
#ifndef TESTS_FAKE_CLOCK_H
#define TESTS_FAKE_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic uint64_t fake_clock_ns;

static inline void fake_clock_pass(uint64_t ns)
{
	atomic_fetch_add(&fake_clock_ns, ns);
}

__attribute__((constructor)) static void fake_clock_begin(void)
{
	struct timespec t;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	atomic_store(&fake_clock_ns, (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec);
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	uint64_t ns = atomic_load(&fake_clock_ns);

	if (clock != CLOCK_MONOTONIC)
		return (int)syscall(SYS_clock_gettime, clock, t);
	t->tv_sec = (time_t)(ns / 1000000000u);
	t->tv_nsec = (long)(ns % 1000000000u);
	return 0;
}

int nanosleep(const struct timespec *asked, struct timespec *left)
{
	(void)left;
	fake_clock_pass((uint64_t)asked->tv_sec * 1000000000u + (uint64_t)asked->tv_nsec);
	return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *t, struct timespec *left)
{
	uint64_t until = (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
	uint64_t now = atomic_load(&fake_clock_ns);

	(void)clock;
	if (!(flags & TIMER_ABSTIME))
		return nanosleep(t, left);
	if (until > now)
		fake_clock_pass(until - now);
	return 0;
}

#endif
