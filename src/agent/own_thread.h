/* A thread of ours in the workload's process: it must not be the one that takes the program's
 * signals. */
#ifndef AGENT_OWN_THREAD_H
#define AGENT_OWN_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* pthread_create() with all signals blocked in the new thread; its result. */
int own_thread_start(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
		     void *argument);

/*
 * Does the kernel still count the thread of this number (gettid())?  It does for a moment behind
 * pthread_join(), and Python, which warns of forks with several threads, asks the kernel.
 */
bool own_thread_is_counted(int number);

/* Waits until it does not, but not for long. */
void own_thread_wait(int number);

#endif
