#include "agent/core/agent_threads.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/core/bounded_wait.h"

#define COUNTED_MS 100u /* a number may be another thread's by then */

int agent_thread_start(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
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

bool agent_thread_is_counted(int number)
{
	int before = errno;
	bool counted = number && (!syscall(SYS_tgkill, getpid(), number, 0) || errno != ESRCH);

	errno = before;
	return counted;
}

static bool is_not_counted(void *number)
{
	return !agent_thread_is_counted(*(int *)number);
}

void agent_thread_wait(int number)
{
	bounded_wait(is_not_counted, &number, COUNTED_MS);
}
