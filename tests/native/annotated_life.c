/*
 * What processes go through, chosen by the first argument; for
 * tests/python/test_native_api.py.
 *
 *	fork      scopes in parent and child      exec     ... and in what the child becomes
 *	threads   8 threads at once               names    80 000 different names
 *	nulls     no name at all, odd values      wait     until a recording begins
 *	(none)    is a recording on?
 */
#include <inferscope.h>

#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void work(const char *name, int n)
{
	for (int i = 0; i < n; i++) {
		inferscope_scope s = inferscope_begin(name);

		inferscope_counter("n", i);
		inferscope_end(s);
	}
}

static void *in_thread(void *unused)
{
	(void)unused;
	work("threaded", 1000);
	return NULL;
}

static int run_threads(void)
{
	pthread_t threads[8];

	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, in_thread, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static int run_child(char **argv, int becomes)
{
	pid_t pid;

	work("parent", 3);
	pid = fork();
	if (pid == 0) {
		if (becomes)
			execl(argv[0], argv[0], "leaf", (char *)0);
		work("child", 2);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	work("parent", 1);
	return 0;
}

static int run_names(void)
{
	char name[64];

	for (int i = 0; i < 80000; i++) {
		snprintf(name, sizeof(name), "name %d", i);
		inferscope_mark(name);
	}
	return 0;
}

static int run_nulls(void)
{
	inferscope_scope never = { 0, 0, 0 };

	inferscope_end(inferscope_begin(NULL));
	inferscope_end(never);
	inferscope_mark("");
	inferscope_thread_name(NULL);
	inferscope_thread_name("a name of more than sixty-three bytes, which is more than there is "
			       "room for");
	inferscope_counter("odd", NAN);
	inferscope_counter("odd", -HUGE_VAL);
	inferscope_counter("odd", -0.5);
	return 0;
}

static int run_when_recorded(void)
{
	work("early", 3);
	for (int i = 0; i < 4000 && !inferscope_is_recording(); i++)
		poll(NULL, 0, 5);
	work("late", 4);
	return inferscope_is_recording() ? 0 : 1;
}

int main(int argc, char **argv)
{
	switch (argc > 1 ? argv[1][0] : 0) {
	case 'f':
	case 'e':
		return run_child(argv, argv[1][0] == 'e');
	case 'l':
		work("leaf", 5);
		return 0;
	case 't':
		return run_threads();
	case 'w':
		return run_when_recorded();
	case 'n':
		return argv[1][1] == 'a' ? run_names() : run_nulls();
	default:
		printf("%d\n", inferscope_is_recording());
		return 0;
	}
}
