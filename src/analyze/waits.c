#include "analyze/waits.h"

#include <stddef.h>
#include <string.h>

static const struct wait {
	const char *file; /* how it ends */
	const char *name; /* qualified; before 3.11 a class may be missing from it */
	bool works;       /* when there is something to do, inside of it */
} waits[] = {
	{ "/threading.py", "Condition.wait", false },
	{ "/threading.py", "Thread._wait_for_tstate_lock", false },
	{ "/threading.py", "Thread.join", false },
	{ "/selectors.py", "EpollSelector.select", false },
	{ "/selectors.py", "_PollLikeSelector.select", false },
	{ "/selectors.py", "SelectSelector._select", false },
	{ "/selectors.py", "SelectSelector.select", false },
	{ "/concurrent/futures/thread.py", "_worker", true },
	{ "/multiprocessing/connection.py", "Connection._recv", false },
	{ "/multiprocessing/connection.py", "wait", false },
	/* in SimpleQueue.get(), which is C */
	{ "/multiprocessing/pool.py", "Pool._handle_tasks", true },
	{ "/multiprocessing/popen_fork.py", "Popen.poll", false },
	{ "/multiprocessing/resource_tracker.py", "main", true },
	{ "/multiprocessing/synchronize.py", "SemLock.__enter__", false },
	{ "/subprocess.py", "Popen._try_wait", false },
	{ "/socket.py", "socket.accept", false },
};

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !memcmp(text + n - m, end, m);
}

/* Samples of a Python before 3.11 know no classes at all. */
static bool is_called(const char *name, const char *qualified)
{
	const char *dot = strrchr(qualified, '.');

	return !strcmp(name, qualified) || (dot && !strcmp(name, dot + 1));
}

static bool is(const char *name, const char *file, const char *qualified)
{
	return is_called(name, qualified) && ends_with(file, "/threading.py");
}

bool function_is_woken(const char *name, const char *file)
{
	return is(name, file, "Condition.wait");
}

bool function_wakes(const char *name, const char *file)
{
	return is(name, file, "Condition.notify");
}

/* NULL: it is none. */
static const struct wait *find(const char *name, const char *file)
{
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		if (is_called(name, waits[i].name) && ends_with(file, waits[i].file))
			return &waits[i];
	}
	return NULL;
}

bool function_waits(const char *name, const char *file)
{
	return find(name, file) != NULL;
}

bool function_only_waits(const char *name, const char *file)
{
	const struct wait *w = find(name, file);

	return w && !w->works;
}
