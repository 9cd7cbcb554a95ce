/* A thread of ours in the workload's process: it must not be the one that takes the program's
 * signals. */
#ifndef AGENT_CORE_AGENT_THREADS_H
#define AGENT_CORE_AGENT_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

/* pthread_create() with all signals blocked in the new thread; its result. */
int agent_thread_start(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
		       void *argument);

/*
 * Does the kernel still count the thread of this number (gettid())?  It does for a moment after
 * the thread's function has returned, and Python, which warns of forks with several threads, asks
 * the kernel.
 */
bool agent_thread_is_counted(int number);

/* Waits until it does not, for 100 ms at most.  Without the GIL. */
void agent_thread_wait(int number);

/* The thread that a process began with: Python's main one in all but embedded interpreters. */

static inline bool is_first_thread(void)
{
	return syscall(SYS_gettid) == getpid();
}

#endif
