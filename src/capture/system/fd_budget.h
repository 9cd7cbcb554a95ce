/*
 * How many files the recorder may keep open for comfort: for the states of threads,
 * perf events, the names of native functions, the figures of processes.  Those that it
 * needs, up to one for each process, must find room beside them, whatever `ulimit -n` says.
 */
#ifndef CAPTURE_SYSTEM_FD_BUDGET_H
#define CAPTURE_SYSTEM_FD_BUDGET_H

#include <stddef.h>
#include <sys/resource.h>

/* `wanted`, or an eighth of what is allowed: there are four callers. */
static inline size_t fd_budget(size_t wanted)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 0;
	return limit.rlim_cur / 8 < wanted ? (size_t)(limit.rlim_cur / 8) : wanted;
}

#endif
