/*
 * What recording the GPU costs the process, charged to its account.
 *
 * CUPTI cannot be switched off again in a running program without harm: cuptiFinalize() corrupts
 * the heap, and disabling activities beside a thread that launches CUDA graphs was seen to hang
 * both.  So the GPU is recorded for as long as the recording lasts.  What that costs does not
 * depend on the overhead budget; it is charged here, so that the report can print it.
 *
 * - Launches, copies and memsets cost the launching thread time, most of it inside CUPTI.  It
 *   cannot be measured from here, but it grows and shrinks with the time that our own hook takes
 *   (clock rate, cold caches), and that is timed.
 * - A node of a CUDA graph costs device time: kernels that follow each other without a gap are
 *   kept apart.
 */
#include <stdatomic.h>

#include "agent/gpu/gpu_recording.h"
#include "agent/overhead/budget.h"
#include "format/stamp.h"

/*
 * Time that a recorded launch adds, and what our hook takes of it.  GPT-2 on an H200 machine, by
 * processes that take turns: tests/gpu/overhead.py --parts cupti,gpu launch.
 */
#define ACTIVITY_NS 3200u
#define HOOK_NS 420u
/* The charge follows the timed hook within these bounds, in percent of ACTIVITY_NS. */
#define SPEED_MIN_PCT 50u
#define SPEED_MAX_PCT 300u

/* Time that a node adds to each replay of its graph: tests/gpu/overhead.py graph. */
#define NODE_NS 1200u

#define HOOK_MAX_NS 10000u /* a longer hook was interrupted */
#define SHARE_TURNS 8      /* that the GPU's share is averaged over: 1.6 s */

static _Atomic uint64_t counted, counted_nodes, counted_device_ns; /* since the last settlement */
static _Atomic uint64_t timed_ns, timed_count;                     /* since the start */

void gpu_cost_count(uint64_t activities, uint64_t nodes, uint64_t device_ns)
{
	atomic_fetch_add_explicit(&counted, activities, memory_order_relaxed);
	atomic_fetch_add_explicit(&counted_nodes, nodes, memory_order_relaxed);
	atomic_fetch_add_explicit(&counted_device_ns, device_ns, memory_order_relaxed);
}

void gpu_cost_hook_took(uint64_t ns)
{
	if (ns > HOOK_MAX_NS)
		return;
	atomic_fetch_add_explicit(&timed_ns, ns, memory_order_relaxed);
	atomic_fetch_add_explicit(&timed_count, 1, memory_order_relaxed);
}

static uint64_t activity_ns(void)
{
	uint64_t count = atomic_load_explicit(&timed_count, memory_order_relaxed), percent;

	if (!count)
		return ACTIVITY_NS;
	percent = atomic_load_explicit(&timed_ns, memory_order_relaxed) * 100 / (count * HOOK_NS);
	if (percent < SPEED_MIN_PCT)
		percent = SPEED_MIN_PCT;
	if (percent > SPEED_MAX_PCT)
		percent = SPEED_MAX_PCT;
	return ACTIVITY_NS * percent / 100;
}

uint64_t gpu_cost_settle(void)
{
	uint64_t activities = atomic_exchange_explicit(&counted, 0, memory_order_relaxed);
	uint64_t nodes = atomic_exchange_explicit(&counted_nodes, 0, memory_order_relaxed);

	return budget_charge_gpu(activities * activity_ns(), nodes * NODE_NS);
}

/*
 * Only time in which the process works earns budget: its CPU time, or its device's if that is
 * longer.  Of the same time the GPU's share is taken, by the last seconds.
 */
void gpu_cost_take_turn(void)
{
	static uint64_t before_ns, before_cpu_ns;
	static double share;
	uint64_t device_ns = atomic_exchange_explicit(&counted_device_ns, 0, memory_order_relaxed);
	uint64_t now_ns = stamp_monotonic(), cpu_ns = stamp_process_cpu();
	uint64_t cost_ns = gpu_cost_settle();
	double worked_ns = (double)(cpu_ns - before_cpu_ns);

	if (worked_ns < (double)device_ns)
		worked_ns = (double)device_ns;
	if (before_ns && now_ns > before_ns) {
		budget_set_worked(worked_ns / (double)(now_ns - before_ns));
		if (worked_ns > 0)
			share += ((double)cost_ns / worked_ns - share) / SHARE_TURNS;
		budget_set_gpu_share(share);
	}
	before_ns = now_ns;
	before_cpu_ns = cpu_ns;
}
