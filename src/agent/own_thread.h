/* A thread of ours in the workload's process: it must not be the one that takes the program's
 * signals. */
#ifndef AGENT_OWN_THREAD_H
#define AGENT_OWN_THREAD_H

#include <pthread.h>

/* pthread_create() with all signals blocked in the new thread; its result. */
int own_thread_start(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
		     void *argument);

#endif
