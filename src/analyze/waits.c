#include "analyze/waits.h"

#include <string.h>

static const struct {
	const char *file; /* how it ends */
	const char *name; /* qualified; before 3.11 a class may be missing from it */
} waits[] = {
	{ "/threading.py", "Condition.wait" },
	{ "/threading.py", "Thread._wait_for_tstate_lock" },
	{ "/threading.py", "Thread.join" },
	{ "/selectors.py", "EpollSelector.select" },
	{ "/selectors.py", "_PollLikeSelector.select" },
	{ "/selectors.py", "SelectSelector._select" },
	{ "/selectors.py", "SelectSelector.select" },
	{ "/concurrent/futures/thread.py", "_worker" },
	{ "/multiprocessing/connection.py", "Connection._recv" },
	{ "/multiprocessing/connection.py", "wait" },
	{ "/multiprocessing/pool.py", "Pool._handle_tasks" }, /* in SimpleQueue.get(), which is C */
	{ "/multiprocessing/popen_fork.py", "Popen.poll" },
	{ "/multiprocessing/synchronize.py", "SemLock.__enter__" },
	{ "/subprocess.py", "Popen._try_wait" },
	{ "/socket.py", "socket.accept" },
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

bool function_waits(const char *name, const char *file)
{
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		if (is_called(name, waits[i].name) && ends_with(file, waits[i].file))
			return true;
	}
	return false;
}
