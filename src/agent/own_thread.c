#include "agent/own_thread.h"

#include <signal.h>

int own_thread_start(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
		     void *argument)
{
	sigset_t all, before;
	int result;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	result = pthread_create(thread, attributes, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return result;
}
