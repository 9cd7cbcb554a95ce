#include "agent/own_thread.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 20000
#define LOOKS_MOST 5000 /* a number may be another thread's by then */

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

bool own_thread_is_counted(int number)
{
	int before = errno;
	bool counted = number && (!syscall(SYS_tgkill, getpid(), number, 0) || errno != ESRCH);

	errno = before;
	return counted;
}

void own_thread_wait(int number)
{
	const struct timespec look = { 0, LOOK_NS };

	for (int i = 0; i < LOOKS_MOST && own_thread_is_counted(number); i++)
		nanosleep(&look, NULL);
}
