#include "agent/overhead/budget.h"

/* Longer pauses earn no more: keeps the product below in 64 bits. */
#define ELAPSED_MAX_NS (3600ull * 1000000000ull)

#define MEASURE_WORK_NS 20000000 /* so often at most: it takes a microsecond */

static struct {
	bool bounded;
	uint32_t budget_ppm;
	_Atomic uint32_t ppm;      /* of it, what may be spent */
	_Atomic uint32_t event_ps; /* at best */
	_Atomic uint32_t live_ps;  /* as it was seen last; 0: not seen */
	double hook_ticks;         /* of it, timed; 0: not known */
	_Atomic int64_t credit_ns;
	_Atomic uint32_t worked_ppm; /* of the time, of late */
	_Atomic bool worked_is_set;  /* by the GPU's account, which knows more */
	_Atomic uint64_t sampled_ns_before,
		measured_cpu_ns;        /* how much that is: when, and the process's CPU time */
	_Atomic uint64_t paid_until_ns; /* CLOCK_MONOTONIC: time before it has earned its credit */
	_Atomic uint64_t throttled;     /* functions */
	_Atomic uint64_t outside_ns;    /* of shm_process: what is charged already, */
	_Atomic uint64_t outside_at_ns; /* and when it was */
	_Atomic uint32_t outside_ppm;   /* of the time, of late */
} bucket;

static uint32_t percent_of_budget(uint32_t percent)
{
	return (uint32_t)((uint64_t)bucket.budget_ppm * percent / 100u);
}

static void set_share(uint32_t percent)
{
	atomic_store_explicit(&bucket.ppm, percent_of_budget(percent), memory_order_relaxed);
}

static uint32_t share_ppm(void)
{
	return atomic_load_explicit(&bucket.ppm, memory_order_relaxed);
}

/* Credit is capped here. */
static int64_t most_ns(void)
{
	return BUDGET_SLACK_NS + (int64_t)(BUDGET_KEEP_NS / 1000000) * share_ppm();
}

void budget_set_gpu_share(double share)
{
	double left =
		BUDGET_SHARE_PCT - 100 * share * 1e6 / (bucket.budget_ppm ? bucket.budget_ppm : 1);

	set_share(left > BUDGET_BESIDE_GPU_PCT ? (uint32_t)left : BUDGET_BESIDE_GPU_PCT);
}

void budget_start(const struct shm_header *h)
{
	bucket.bounded = h->cpu_mode != SHM_CPU_TRACE && h->budget_ppm != SHM_NO_BUDGET;
	bucket.budget_ppm = h->budget_ppm;
	set_share(BUDGET_SHARE_PCT);
	atomic_store_explicit(&bucket.event_ps, 0, memory_order_relaxed);
	atomic_store_explicit(&bucket.live_ps, 0, memory_order_relaxed);
	bucket.hook_ticks = 0;
	atomic_store_explicit(&bucket.throttled, 0, memory_order_relaxed);
	atomic_store_explicit(&bucket.credit_ns, BUDGET_FIRST_NS, memory_order_relaxed);
	atomic_store_explicit(&bucket.worked_ppm, 1000000, memory_order_relaxed);
	atomic_store_explicit(&bucket.worked_is_set, false, memory_order_relaxed);
	atomic_store_explicit(&bucket.sampled_ns_before, stamp_monotonic(), memory_order_relaxed);
	atomic_store_explicit(&bucket.measured_cpu_ns, stamp_process_cpu(), memory_order_relaxed);
	atomic_store_explicit(&bucket.paid_until_ns, stamp_monotonic(), memory_order_relaxed);
	atomic_store_explicit(&bucket.outside_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&bucket.outside_at_ns, stamp_monotonic(), memory_order_relaxed);
	atomic_store_explicit(&bucket.outside_ppm, 0, memory_order_relaxed);
}

bool budget_bounded(void)
{
	return bucket.bounded;
}

void budget_set_event_cost(uint32_t ps, double hook_ticks)
{
	struct shm_process *self = session_process();

	bucket.hook_ticks = hook_ticks;
	atomic_store_explicit(&bucket.event_ps, ps, memory_order_relaxed);
	if (self)
		atomic_store_explicit(&self->event_cost_ps, ps, memory_order_relaxed);
}

uint32_t budget_event_cost_ps(void)
{
	return atomic_load_explicit(&bucket.event_ps, memory_order_relaxed);
}

/* So much CPU time, and the waits for a CPU that come with it. */
static uint64_t with_waits(const struct shm_process *account, uint64_t ns)
{
	uint64_t percent =
		account ? atomic_load_explicit(&account->contention_percent, memory_order_relaxed)
			: 0;

	return percent > 100 ? ns * percent / 100 : ns;
}

/*
 * Of a ring's own entry: its thread may outlive the recording that the process is in.  Returns what
 * it costs.
 */
static uint64_t note(struct shm_process *account, uint64_t ns)
{
	ns = with_waits(account, ns);
	if (account)
		atomic_fetch_add_explicit(&account->overhead_ns, ns, memory_order_relaxed);
	return ns;
}

static void spend(struct shm_process *account, uint64_t ns)
{
	ns = note(account, ns);
	atomic_fetch_sub_explicit(&bucket.credit_ns, (int64_t)ns, memory_order_relaxed);
}

void budget_spend_ns(uint64_t ns)
{
	spend(session_process(), ns);
}

uint64_t budget_charge_gpu(uint64_t activities_ns, uint64_t nodes_ns)
{
	struct shm_process *self = session_process();

	if (!self)
		return 0;
	activities_ns = note(self, activities_ns);
	atomic_fetch_add_explicit(&self->gpu_overhead_ns, activities_ns, memory_order_relaxed);
	/* Device time does not depend on the load of the CPUs. */
	atomic_fetch_add_explicit(&self->graph_overhead_ns, nodes_ns, memory_order_relaxed);
	atomic_fetch_add_explicit(&self->overhead_ns, nodes_ns, memory_order_relaxed);
	return activities_ns + nodes_ns;
}

void budget_spend_once_ns(uint64_t ns)
{
	int64_t cost = (int64_t)note(session_process(), ns);
	int64_t credit = atomic_load_explicit(&bucket.credit_ns, memory_order_relaxed);

	while (credit > 0 && !atomic_compare_exchange_weak_explicit(
				     &bucket.credit_ns, &credit, credit > cost ? credit - cost : 0,
				     memory_order_relaxed, memory_order_relaxed))
		;
}

/* What the recorder says stands in its own account. */
static void charge_recorder(const struct shm_process *account, uint64_t now_ns)
{
	uint64_t total = atomic_load_explicit(&account->outside_ns, memory_order_relaxed);
	uint64_t charged =
		atomic_exchange_explicit(&bucket.outside_ns, total, memory_order_relaxed);
	uint64_t then = atomic_load_explicit(&bucket.outside_at_ns, memory_order_relaxed);
	double before = atomic_load_explicit(&bucket.outside_ppm, memory_order_relaxed), now;

	if (total <= charged || now_ns <= then)
		return;
	atomic_fetch_sub_explicit(&bucket.credit_ns, (int64_t)(total - charged),
				  memory_order_relaxed);
	now = (double)(total - charged) * 1e6 / (double)(now_ns - then);
	atomic_store_explicit(&bucket.outside_ppm,
			      (uint32_t)(before + ((now < 1e6 ? now : 1e6) - before) / 8),
			      memory_order_relaxed);
	atomic_store_explicit(&bucket.outside_at_ns, now_ns, memory_order_relaxed);
}

void budget_charge_recorder(void)
{
	const struct shm_process *self = session_process();

	if (self)
		charge_recorder(self, stamp_monotonic());
}

static uint64_t part_of(uint64_t elapsed_ns, uint32_t ppm)
{
	return (elapsed_ns < ELAPSED_MAX_NS ? elapsed_ns : ELAPSED_MAX_NS) * ppm / 1000000u;
}

uint64_t budget_earned_ns(uint64_t elapsed_ns)
{
	return part_of(elapsed_ns, share_ppm());
}

uint64_t budget_time_for_ns(uint64_t ns)
{
	uint32_t ppm = share_ppm();

	return ns * 1000000u / (ppm ? ppm : 1);
}

static void set_worked(double share)
{
	atomic_store_explicit(&bucket.worked_ppm, (uint32_t)(share < 1 ? share * 1e6 : 1e6),
			      memory_order_relaxed);
}

void budget_set_worked(double share)
{
	atomic_store_explicit(&bucket.worked_is_set, true, memory_order_relaxed);
	set_worked(share);
}

void budget_measure_work(uint64_t now_ns, uint64_t (*cpu_clock)(void))
{
	uint64_t then_ns = atomic_load_explicit(&bucket.sampled_ns_before, memory_order_relaxed);
	uint64_t cpu_ns, before_ns;

	if (now_ns < then_ns + MEASURE_WORK_NS ||
	    atomic_load_explicit(&bucket.worked_is_set, memory_order_relaxed) ||
	    !atomic_compare_exchange_strong_explicit(&bucket.sampled_ns_before, &then_ns, now_ns,
						     memory_order_relaxed, memory_order_relaxed))
		return;
	cpu_ns = cpu_clock();
	before_ns = atomic_exchange_explicit(&bucket.measured_cpu_ns, cpu_ns, memory_order_relaxed);
	if (before_ns > cpu_ns) /* a forked child's starts at 0 */
		before_ns = 0;
	set_worked((double)with_waits(session_process(), cpu_ns - before_ns) /
		   (double)(now_ns - then_ns));
}

uint64_t budget_worked_ns(uint64_t elapsed_ns)
{
	return part_of(elapsed_ns, atomic_load_explicit(&bucket.worked_ppm, memory_order_relaxed));
}

uint64_t budget_left_ns(uint64_t elapsed_ns)
{
	uint64_t earned = budget_earned_ns(elapsed_ns);
	uint64_t outside = part_of(elapsed_ns,
				   atomic_load_explicit(&bucket.outside_ppm, memory_order_relaxed));

	/* Samples cannot take all of it: they are held back, too. */
	return earned > outside + earned / 3 ? earned - outside : earned / 3;
}

uint64_t budget_spent_ns(void)
{
	const struct shm_process *self = session_process();

	return self ? atomic_load_explicit(&self->overhead_ns, memory_order_relaxed) : 0;
}

void budget_count_throttled(void)
{
	struct shm_process *self = session_process();
	uint64_t n = atomic_fetch_add_explicit(&bucket.throttled, 1, memory_order_relaxed) + 1;

	if (self)
		atomic_store_explicit(&self->throttled_functions, n, memory_order_relaxed);
}

uint64_t budget_throttled(void)
{
	return atomic_load_explicit(&bucket.throttled, memory_order_relaxed);
}

int64_t budget_credit_at(uint64_t now_ns)
{
	uint64_t then = atomic_load_explicit(&bucket.paid_until_ns, memory_order_relaxed);
	uint64_t elapsed = now_ns - then;
	int64_t credit, most = most_ns();

	if (!bucket.bounded)
		return INT64_MAX;
	budget_measure_work(now_ns, stamp_process_cpu);
	/* Who moves the mark gets the credit for the time that it passed. */
	if (now_ns > then &&
	    atomic_compare_exchange_strong_explicit(&bucket.paid_until_ns, &then, now_ns,
						    memory_order_relaxed, memory_order_relaxed))
		atomic_fetch_add_explicit(&bucket.credit_ns,
					  (int64_t)budget_earned_ns(budget_worked_ns(elapsed)),
					  memory_order_relaxed);
	credit = atomic_load_explicit(&bucket.credit_ns, memory_order_relaxed);
	while (credit > most) {
		if (atomic_compare_exchange_weak_explicit(&bucket.credit_ns, &credit, most,
							  memory_order_relaxed,
							  memory_order_relaxed))
			break;
	}
	return credit < most ? credit : most;
}

int64_t budget_credit_ns(void)
{
	return bucket.bounded ? budget_credit_at(stamp_monotonic()) : INT64_MAX;
}

void budget_timed(struct ring *r, uint64_t start)
{
	uint64_t ticks = stamp_behind(r->clock) - start;
	double most = bucket.hook_ticks * BUDGET_TIMED_MOST;

	if (most > 0 && (double)ticks > most)
		ticks = (uint64_t)most;
	r->timed_ticks += ticks;
	r->timed++;
}

/* Takes in what was timed since the last time: the latest counts most. */
static void learn(struct ring *r)
{
	double best = bucket.hook_ticks, mean = r->timed ? (double)r->timed_ticks / r->timed : 0;
	uint32_t before = r->event_ps ? r->event_ps
				      : atomic_load_explicit(&bucket.live_ps, memory_order_relaxed);
	double ps;

	r->timed_ticks = r->timed = 0;
	if (mean <= 0 || best <= 0)
		return;
	ps = budget_event_cost_ps() * mean / best;
	if (before)
		ps = before + (ps - before) / 8;
	r->event_ps = (uint32_t)ps;
	atomic_store_explicit(&bucket.live_ps, r->event_ps, memory_order_relaxed);
}

static uint64_t cost_ns(struct ring *r, uint64_t events)
{
	uint64_t ps = budget_event_cost_ps();

	if (r->timed)
		learn(r);
	if (!ps)
		ps = BUDGET_UNKNOWN_PS;
	else
		ps = r->event_ps ? r->event_ps : ps * BUDGET_UNTIMED_PERCENT / 100;
	return events * ps / 1000u;
}

bool budget_settle(struct ring *r)
{
	struct shm_process *account =
		&r->session->processes[r->session->threads[r->thread].process];
	uint64_t events = (uint64_t)(r->lot - r->allowance), now_ns = stamp_monotonic();

	if (events)
		spend(account, cost_ns(r, events));
	r->lot = r->allowance = BUDGET_LOT;
	charge_recorder(account, now_ns);
	return budget_credit_at(now_ns) < 0;
}
