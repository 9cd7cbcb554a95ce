/* The thread that a process began with: Python's main one in all but embedded interpreters. */
#ifndef AGENT_FIRST_THREAD_H
#define AGENT_FIRST_THREAD_H

#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline bool is_first_thread(void)
{
	return syscall(SYS_gettid) == getpid();
}

#endif
