#include "agent/core/bounded_wait.h"

#include <time.h>

#include "format/stamp.h"

#define PAUSE_FIRST_NS 20000L /* a thread that sleeps on a futex is gone after 50 us, mostly */
#define PAUSE_LAST_NS 1000000L

bool bounded_wait(bool (*is_done)(void *), void *argument, unsigned most_ms)
{
	uint64_t until_ns = stamp_monotonic() + most_ms * 1000000ull;
	struct timespec pause = { 0, PAUSE_FIRST_NS };

	while (!is_done(argument)) {
		if (stamp_monotonic() >= until_ns)
			return false;
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < PAUSE_LAST_NS)
			pause.tv_nsec += PAUSE_FIRST_NS;
	}
	return true;
}
