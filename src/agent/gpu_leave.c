/*
 * Out of CUPTI altogether, for a pause.
 *
 * Once activities have been on, each launch takes 1.2 us longer, a tenth of what PyTorch needs for
 * one, whether anybody listens or not, until cuptiFinalize(): switched off and unsubscribed alike
 * (H200, CUDA 13.0: tests/gpu/leave_probe.py).
 *
 * There it was seen to be safe at the end of a call alone, where the manual recommends it: from
 * a thread of our own it hangs while others launch.  Not before all that was recorded is done and
 * fetched: a program whose device was behind died of a broken heap.  Not where CUDA graphs are: one
 * that ran under CUPTI reaches for what is gone ("illegal memory access").  And not where any other
 * thread than the first uses CUDA: one such program of some hundred died when its threads ended,
 * and nobody knows why.  So whoever does any of these, or has a profiler of his own, keeps us for
 * good.
 */
#include <stdatomic.h>
#include <time.h>

#include "agent/cupti.h"
#include "agent/gpu_recording.h"
#include "agent/hot.h"
#include "format/stamp.h"

#define SETTLE_MS 2000 /* it takes 2 ms, unless the device hangs */

enum leave { LEAVE_NOT, LEAVE_ASKED, LEAVE_NOW, LEAVE_DONE };

static HOT_DATA _Atomic int state;
static _Atomic bool never;

void gpu_leave_never(void)
{
	if (!atomic_load_explicit(&never, memory_order_relaxed))
		atomic_store(&never, true);
}

bool gpu_leave_ask(void)
{
	if (!cupti.Finalize || atomic_load(&never))
		return false;
	atomic_store(&state, LEAVE_ASKED);
	return true;
}

HOT bool gpu_leave_is_asked(void)
{
	return atomic_load_explicit(&state, memory_order_relaxed) == LEAVE_ASKED;
}

void gpu_leave_here(void)
{
	uint64_t began_ns = stamp_monotonic();
	int asked = LEAVE_ASKED;
	bool left;

	if (!atomic_compare_exchange_strong(&state, &asked, LEAVE_NOW))
		return;
	left = !atomic_load(&never) && !cupti.Finalize();
	gpu_windows_spent(stamp_monotonic() - began_ns);
	atomic_store(&state, left ? LEAVE_DONE : LEAVE_NOT);
}

bool gpu_leave_settle(void)
{
	const struct timespec pause = { 0, 1000000 };
	int asked = LEAVE_ASKED;

	if (atomic_compare_exchange_strong(&state, &asked, LEAVE_NOT))
		return false;
	for (int ms = 0; ms < SETTLE_MS && atomic_load(&state) == LEAVE_NOW; ms++)
		nanosleep(&pause, NULL);
	return atomic_exchange(&state, LEAVE_NOT) != LEAVE_NOT;
}
