#include "agent/nvtx/nvtx.h"

#include "agent/core/hot.h"
#include "agent/overhead/budget.h"

#define FIRST_WAIT_NS 2000000000ull
#define LAST_WAIT_NS 64000000000ull

/* Of the budget, what a thread's ranges may take before they are to blame: one part in so many. */
#define BLAME_PART 8u

/* Ranges go that cost up to 2^so many times less than time earned in them, but no longer ones. */
#define PATIENCE_MAX 5u

/* What a record costs where nothing was measured, as in native programs. */
#define UNMEASURED_PS 75000u

_Atomic uint32_t nvtx_throttle_ids[NVTX_THROTTLE_SLOTS];

static _Atomic uint32_t epoch;             /* the recording that the ids belong to */
static _Atomic uint32_t patience;          /* see PATIENCE_MAX */
static _Atomic uint64_t wait_ns, again_ns; /* when all are recorded again; 0: all are */

static uint64_t cost_ns(uint64_t records)
{
	return records * budget_event_cost_ps() / 1000u;
}

static void forget(void)
{
	for (uint32_t i = 0; i < NVTX_THROTTLE_SLOTS; i++)
		atomic_store_explicit(&nvtx_throttle_ids[i], 0, memory_order_relaxed);
	atomic_store_explicit(&patience, 0, memory_order_relaxed);
}

void nvtx_throttle_start(void)
{
	if (!budget_event_cost_ps())
		budget_set_event_cost(UNMEASURED_PS, 0);
	if (atomic_exchange_explicit(&epoch, session_epoch, memory_order_relaxed) == session_epoch)
		return;
	forget();
	atomic_store_explicit(&wait_ns, FIRST_WAIT_NS, memory_order_relaxed);
	atomic_store_explicit(&again_ns, 0, memory_order_relaxed);
}

static void record_all_again(struct ring *r, uint64_t now_ns)
{
	uint64_t again = atomic_load_explicit(&again_ns, memory_order_relaxed);
	uint64_t wait = atomic_load_explicit(&wait_ns, memory_order_relaxed);

	if (!again || now_ns < again ||
	    !atomic_compare_exchange_strong_explicit(&again_ns, &again, 0, memory_order_relaxed,
						     memory_order_relaxed))
		return;
	if (wait < LAST_WAIT_NS)
		atomic_store_explicit(&wait_ns, 2 * wait, memory_order_relaxed);
	forget();
	ring_push(r, RECORD_NVTX_LEFT_OUT, 0);
}

COLD bool nvtx_budget_check_now(struct ring *r, struct nvtx_budget_check *l)
{
	const struct nvtx_budget_check then = *l;
	uint64_t now_ns = stamp_monotonic();

	*l = (struct nvtx_budget_check){ .sampled_ns_before = now_ns };
	if (budget_credit_at(now_ns) >= 0) {
		record_all_again(r, now_ns);
		return false;
	}
	return then.sampled_ns_before && budget_earned_ns(now_ns - then.sampled_ns_before) <
						 BLAME_PART * cost_ns(2ull * then.recorded);
}

COLD void nvtx_throttle_evaluate(struct ring *r, uint32_t id, uint64_t lasted_ns)
{
	uint32_t times = atomic_load_explicit(&patience, memory_order_relaxed);
	uint64_t nothing = 0;

	if (budget_earned_ns(lasted_ns) >= cost_ns(2) << times) {
		if (times < PATIENCE_MAX)
			atomic_store_explicit(&patience, times + 1, memory_order_relaxed);
		return;
	}
	atomic_store_explicit(&nvtx_throttle_ids[id % NVTX_THROTTLE_SLOTS], id,
			      memory_order_relaxed);
	atomic_compare_exchange_strong_explicit(
		&again_ns, &nothing,
		stamp_monotonic() + atomic_load_explicit(&wait_ns, memory_order_relaxed),
		memory_order_relaxed, memory_order_relaxed);
	ring_push(r, RECORD_NVTX_LEFT_OUT, id);
}
