/*
 * The GPU's part of the overhead budget.
 *
 * Recording a launch costs its thread time that nobody but CUPTI could measure, so
 * each activity is charged with what it was seen to cost.  When that is more than
 * the budget allows, the GPU is recorded in windows: off while the bucket fills, on
 * until it is empty.  The GPU goes first: while it waits for its window the
 * Python calls have nothing to spend.
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
static uint64_t charged, charged_nodes, since_ns;
static uint64_t window_cost_ns; /* what a window of WINDOW_NS took, by the latest one */
static bool waiting;

void gpu_windows_count(uint64_t activities, uint64_t nodes)
{
	atomic_fetch_add_explicit(&counted, activities, memory_order_relaxed);
	atomic_fetch_add_explicit(&counted_nodes, nodes, memory_order_relaxed);
}

static void wait_for_credit(uint64_t now_ns)
{
	uint64_t on_ns = now_ns > since_ns ? now_ns - since_ns : 1;

	window_cost_ns = (uint64_t)((double)window_cost_ns / (double)on_ns * WINDOW_NS);
	gpu_pause(GPU_PAUSE_BUDGET,
		  "all of it costs more than max_overhead allows: the GPU is recorded in windows");
	budget_reserve_ns(window_cost_ns);
	waiting = true;
}

static void begin_window(uint64_t now_ns)
{
	budget_reserve_ns(0);
	window_cost_ns = 0;
	since_ns = now_ns;
	waiting = false;
	gpu_resume(GPU_PAUSE_BUDGET);
}

void gpu_windows_turn(void)
{
	uint64_t now_ns = stamp_monotonic();
	uint64_t others = atomic_load_explicit(&counted, memory_order_relaxed) - charged;
	uint64_t nodes = atomic_load_explicit(&counted_nodes, memory_order_relaxed) - charged_nodes;
	uint64_t cost_ns = others * ACTIVITY_NS + nodes * NODE_NS;

	if (!since_ns)
		since_ns = now_ns;
	charged += others;
	charged_nodes += nodes;
	window_cost_ns += cost_ns;
	budget_spend_ns(cost_ns);
	if (!waiting && cost_ns && budget_over() && !charged_nodes)
		wait_for_credit(now_ns);
	else if (waiting && !budget_over())
		begin_window(now_ns);
}
