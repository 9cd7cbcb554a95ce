/*
 * The GPU's part of the overhead budget.
 *
 * Recording a launch costs its thread time that nobody but CUPTI could measure, so
 * each activity is charged with what it was seen to cost.  The GPU has a bucket of its
 * own, BUDGET_GPU_PCT of the budget and what the others leave of theirs: what Python calls spend
 * while a program imports its libraries must not be missing when its model runs.  When that is
 * empty, the GPU is recorded in windows: off while the bucket fills, on until it is empty.
 *
 * Both buckets fill while the process works, that is by its CPU time or its device's: between two
 * requests a service would earn what each of them then pays for.
 *
 * Not so in a program that replays CUDA graphs: with CUPTI 12.9 and 13.0 switching
 * activities off while another thread launches graphs without a break was seen to hang
 * both (tests/gpu/graph_probe.py, races), and nodes that run meanwhile got ends of the
 * wrong time.  Their cost is in the account, whatever it is, and everything else has to do with
 * less.
 */
#include <stdatomic.h>

#include "agent/budget.h"
#include "agent/gpu_recording.h"
#include "format/stamp.h"

/*
 * CUPTI and us together, for a launch from Python and what the device does for it: 17 % of the 19
 * us between two launches of GPT-2 on an H200, by processes that take turns (tests/gpu/overhead.py
 * --parts).
 */
#define ACTIVITY_NS 3200u

/* Of a CUDA graph: what a launch takes longer for each of its nodes (tests/gpu/graph_probe.py). */
#define NODE_NS 1200u

#define WINDOW_NS 500000000 /* at least so long: many steps of a model */
/* Of work: what it earns is kept at most, so that a program's start pays for its first window, and
 * waited for at most before the next one.  Few and long ones: to take CUPTI again costs 10 ms. */
#define KEEP_NS 4000000000u

static _Atomic uint64_t counted, counted_nodes, counted_device_ns, spent_ns;
/* Of the thread that takes the turns, as all below. */
static uint64_t charged, charged_nodes, since_ns, paid_until_ns;
static uint64_t turned_ns, turned_cpu_ns; /* at the latest turn */
static double device_per_cpu;             /* time, when the device was last seen */
static int64_t credit_ns;
static int64_t window_ns; /* what a window of WINDOW_NS took, by the latest one */
static bool waiting;

void gpu_windows_count(uint64_t activities, uint64_t nodes, uint64_t device_ns)
{
	atomic_fetch_add_explicit(&counted_device_ns, device_ns, memory_order_relaxed);
	atomic_fetch_add_explicit(&counted, activities, memory_order_relaxed);
	atomic_fetch_add_explicit(&counted_nodes, nodes, memory_order_relaxed);
}

void gpu_windows_spent(uint64_t ns)
{
	atomic_fetch_add_explicit(&spent_ns, ns, memory_order_relaxed);
}

/* How much of the time since the latest turn the process has worked. */
static void look_at_work(uint64_t now_ns)
{
	uint64_t now_cpu_ns = stamp_process_cpu();
	double cpu = (double)(now_cpu_ns - turned_cpu_ns);
	double device =
		(double)atomic_exchange_explicit(&counted_device_ns, 0, memory_order_relaxed);

	if (turned_ns && now_ns > turned_ns && cpu > 0) {
		/* In a pause it is as busy as it was for what the CPU does. */
		if (gpu_is_on())
			device_per_cpu = device / cpu;
		/* What both do at once counts once: how much that is nobody knows. */
		budget_set_worked(cpu * (device_per_cpu > 1 ? device_per_cpu : 1) /
				  (double)(now_ns - turned_ns));
	}
	turned_ns = now_ns;
	turned_cpu_ns = now_cpu_ns;
}

/* What so much work earns, and a little more. */
static int64_t worth_ns(uint64_t worked_ns)
{
	return BUDGET_SLACK_NS + (int64_t)budget_gpu_earned_ns(worked_ns);
}

static void earn(uint64_t now_ns)
{
	if (!paid_until_ns) { /* nothing was spent before */
		since_ns = now_ns;
		credit_ns = BUDGET_SLACK_NS;
		paid_until_ns = budget_began_ns();
	}
	if (now_ns > paid_until_ns) {
		uint64_t worked_ns = budget_worked_ns(now_ns - paid_until_ns);

		budget_credit_at(now_ns);
		credit_ns += (int64_t)(budget_gpu_earned_ns(worked_ns) + budget_take_surplus_ns());
		paid_until_ns = now_ns;
	}
	if (credit_ns > worth_ns(KEEP_NS))
		credit_ns = worth_ns(KEEP_NS);
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
	uint64_t besides_ns = atomic_exchange_explicit(&spent_ns, 0, memory_order_relaxed);
	uint64_t cost_ns = budget_note_ns(others * ACTIVITY_NS + nodes * NODE_NS + besides_ns);

	charged += others;
	charged_nodes += nodes;
	if (!budget_bounded())
		return;
	budget_make_room_for_gpu();
	look_at_work(now_ns);
	earn(now_ns);
	credit_ns -= (int64_t)cost_ns;
	window_ns += (int64_t)cost_ns;
	if (charged_nodes && credit_ns < 0) {
		budget_lend_ns((uint64_t)-credit_ns);
		credit_ns = 0;
	}
	if (!waiting && cost_ns && credit_ns < 0)
		wait_for_credit(now_ns);
	else if (waiting && (credit_ns >= window_ns || credit_ns >= worth_ns(KEEP_NS)))
		begin_window(now_ns);
}
