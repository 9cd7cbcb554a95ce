/*
 * The GPU's part of the overhead budget.
 *
 * Recording a launch costs its thread time that nobody but CUPTI could measure, so
 * each activity is charged with what it was seen to cost.  The GPU has a bucket of its
 * own, BUDGET_GPU_PCT of the budget: what Python calls spend while a program imports
 * its libraries must not be missing when its model runs.  When that is empty, the GPU
 * is recorded in windows: off while the bucket fills, on until it is empty.
 *
 * Not so in a program that replays CUDA graphs: with CUPTI 12.9 and 13.0 switching
 * activities off while another thread launches graphs without a break was seen to hang
 * both (tests/gpu/graph_probe.py, races), and nodes that run meanwhile got ends of the
 * wrong time.  Their cost is in the account, whatever it is.
 */
#include <stdatomic.h>

#include "agent/budget.h"
#include "agent/gpu_recording.h"

/*
 * CUPTI and us together, for a launch from Python and what the device does for it:
 * 5 to 7 % of the 20 to 30 us between two launches of GPT-2 on an H200
 * (tests/gpu/on_off.py).
 */
#define ACTIVITY_NS 1700u

/* Of a CUDA graph: what a launch takes longer for each of its nodes (tests/gpu/graph_probe.py). */
#define NODE_NS 1200u

#define WINDOW_NS 500000000 /* at least so long: many steps of a model */

static _Atomic uint64_t counted, counted_nodes;
/* Of the thread that takes the turns, as all below. */
static uint64_t charged, charged_nodes, since_ns, paid_until_ns;
static int64_t credit_ns;
static int64_t window_ns; /* what a window of WINDOW_NS took, by the latest one */
static bool waiting;

void gpu_windows_count(uint64_t activities, uint64_t nodes)
{
	atomic_fetch_add_explicit(&counted, activities, memory_order_relaxed);
	atomic_fetch_add_explicit(&counted_nodes, nodes, memory_order_relaxed);
}

static int64_t most_ns(void)
{
	return BUDGET_SLACK_NS + (int64_t)budget_gpu_earned_ns(BUDGET_KEEP_NS);
}

static void earn(uint64_t now_ns)
{
	if (!paid_until_ns) { /* nothing was spent before */
		since_ns = now_ns;
		credit_ns = BUDGET_SLACK_NS;
		paid_until_ns = budget_began_ns();
	}
	if (now_ns > paid_until_ns) {
		credit_ns += (int64_t)budget_gpu_earned_ns(now_ns - paid_until_ns);
		paid_until_ns = now_ns;
	}
	if (credit_ns > most_ns())
		credit_ns = most_ns();
}

static void wait_for_credit(uint64_t now_ns)
{
	uint64_t on_ns = now_ns > since_ns ? now_ns - since_ns : 1;

	window_ns = (int64_t)((double)window_ns / (double)on_ns * WINDOW_NS);
	gpu_pause(GPU_PAUSE_BUDGET,
		  "all of it costs more than max_overhead allows: the GPU is recorded in windows");
	waiting = true;
}

static void begin_window(uint64_t now_ns)
{
	window_ns = 0;
	since_ns = now_ns;
	waiting = false;
	gpu_resume(GPU_PAUSE_BUDGET);
}

void gpu_windows_turn(void)
{
	uint64_t now_ns = stamp_monotonic();
	uint64_t others = atomic_load_explicit(&counted, memory_order_relaxed) - charged;
	uint64_t nodes = atomic_load_explicit(&counted_nodes, memory_order_relaxed) - charged_nodes;
	uint64_t cost_ns = budget_note_ns(others * ACTIVITY_NS + nodes * NODE_NS);

	charged += others;
	charged_nodes += nodes;
	if (!budget_bounded())
		return;
	earn(now_ns);
	credit_ns -= (int64_t)cost_ns;
	window_ns += (int64_t)cost_ns;
	if (!waiting && cost_ns && credit_ns < 0 && !charged_nodes)
		wait_for_credit(now_ns);
	else if (waiting && credit_ns >= (window_ns < most_ns() ? window_ns : most_ns()))
		begin_window(now_ns);
}
