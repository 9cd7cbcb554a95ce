/*
 * Time stamps: the CPU's invariant counter where there is one (6-12 ns), else
 * CLOCK_MONOTONIC.  The recorder decides which, once, and converts ticks to
 * nanoseconds when it drains.
 */
#ifndef FORMAT_STAMP_H
#define FORMAT_STAMP_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "format/shm.h"

static inline uint64_t stamp_of(clockid_t clock)
{
	struct timespec ts = { 0, 0 };

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline uint64_t stamp_monotonic(void)
{
	return stamp_of(CLOCK_MONOTONIC);
}

/* CPU time of the calling thread, of its process; system calls, unlike other clocks. */
static inline uint64_t stamp_thread_cpu(void)
{
	return stamp_of(CLOCK_THREAD_CPUTIME_ID);
}

static inline uint64_t stamp_process_cpu(void)
{
	return stamp_of(CLOCK_PROCESS_CPUTIME_ID);
}

static inline uint64_t stamp_counter(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	return stamp_monotonic();
#endif
}

/* Not before all that was asked of the memory has come: for who measures what that takes. */
static inline uint64_t stamp_behind(uint32_t clock)
{
	if (clock != SHM_CLOCK_COUNTER)
		return stamp_monotonic();
#if defined(__x86_64__)
	__builtin_ia32_lfence();
#elif defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory");
#endif
	return stamp_counter();
}

static inline uint64_t stamp_now(uint32_t clock)
{
	return clock == SHM_CLOCK_COUNTER ? stamp_counter() : stamp_monotonic();
}

#endif
