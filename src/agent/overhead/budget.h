/*
 * The overhead budget of this process: a token bucket from the first event on.
 *
 *   what recording cost so far  <=  budget x elapsed time + BUDGET_SLACK_NS
 *
 * What the GPU costs is in the account, but no credit pays for it: it cannot be recorded in part
 * (gpu_cost.c).  Credit that is not used is kept up to a limit, so that a quiet hour does not buy
 * a slow minute.  Only the time counts in which the process works,
 * by its CPU time or its device's: one that waits for requests is not to pay for the wait with
 * each of them.  Events are paid by the lot: an event takes one decrement and one branch, the clock
 * is read at the end of a lot.  What to do when the bucket is overdrawn is for the hooks to know.
 * Where others have the CPUs as well, what recording takes costs the program more than that: the
 * recorder says how much (shm_process.contention_percent).  What it costs the program from outside
 * is paid from the same credit (shm_process.outside_ns).  The account is kept without a budget,
 * too: the recorder reads it in the process's entry.
 *
 * Any thread, with or without the GIL.  A forked child goes on with its parent's
 * credit, or a program that forks all day would have a fresh one all day.
 */
#ifndef AGENT_OVERHEAD_BUDGET_H
#define AGENT_OVERHEAD_BUDGET_H

#include "agent/core/session.h"

#define BUDGET_SLACK_NS 10000000
#define BUDGET_FIRST_NS 5000000   /* of it there is so much at the start: a look at a program */
#define BUDGET_KEEP_NS 1000000000 /* unused credit beyond it: that of so much time */
/*
 * Of the budget, what may be spent by this account.  By whole runs it was 0 to 3 points below what
 * a program loses (docs/BENCHMARKS.md).  What of it was found since is charged (drain_costs.c:
 * cores that are shared, interrupts); the rest is kept for what was not.
 */
#define BUDGET_SHARE_PCT 40u
/* Of it there is so much at least where recording the GPU costs as much as the share, or more. */
#define BUDGET_BESIDE_GPU_PCT 20u
#define BUDGET_LOT 256 /* events between two looks at the clock */

/* What an event is taken to cost until it is measured. */
#define BUDGET_UNKNOWN_PS 200000u

/* Of a hook's events so many-th are timed; a power of two, and less than a lot. */
#define BUDGET_TIMED_EACH 64

/* A timed event that took so many times what it takes at best was interrupted. */
#define BUDGET_TIMED_MOST 24u

/*
 * What an event costs, in percent of what it does at best, where none are timed.  Seen
 * on bench/workloads, events on and off in turns, on 3.12: 80 (nothing but calls) to 200 (parsing).
 */
#define BUDGET_UNTIMED_PERCENT 150u

/*
 * Likewise where some hundred microseconds of other code, as a framework's, lie between events, as
 * with layers: bench/model_turns.py layers.
 */
#define BUDGET_SPARSE_PERCENT 300u

/* A recording was joined: opens the account.  Before the first event. */
void budget_start(const struct shm_header *h);

/* False: whatever recording costs is allowed. */
bool budget_bounded(void);

/*
 * What one event costs on this machine and interpreter, in picoseconds, when events follow
 * each other at once; 0: not known, see BUDGET_UNKNOWN_PS.  Of it the hook takes so many
 * ticks as budget_timed() counts them, 0: none are timed.  Measured by calibration.c.
 */
void budget_set_event_cost(uint32_t ps, double hook_ticks);
uint32_t budget_event_cost_ps(void);

/*
 * Counts an event of the calling thread, stored or not.  True: the lot is used
 * up, budget_settle() is due.
 */
static inline bool budget_due(struct ring *r)
{
	return __builtin_expect(--r->allowance < 0, 0);
}

/* Is the event that was just counted one of those that are timed? */
static inline bool budget_times(const struct ring *r)
{
	return __builtin_expect(!(r->allowance & (BUDGET_TIMED_EACH - 1)), 0);
}

/*
 * The hook is done with it: it began at `start`.  So the account knows what an event costs here
 * and now.  The more other code runs between two of them, the less of our memory and code is
 * still in the nearest caches; what the interpreter does to call the hook suffers alike.
 */
void budget_timed(struct ring *r, uint64_t start);

/*
 * Charges the events since the last one of these and gives the thread its next
 * lot.  True: the bucket is overdrawn.
 */
bool budget_settle(struct ring *r);

/*
 * Counts a record that is not subject to the budget, but costs like n events.  It
 * is charged with the thread's next event, or when there are many.
 */
static inline void budget_count(struct ring *r, int32_t n)
{
	r->allowance -= n;
	if (__builtin_expect(r->allowance < -BUDGET_LOT, 0))
		budget_settle(r);
}

uint64_t budget_earned_ns(uint64_t elapsed_ns); /* at most an hour's */
uint64_t budget_time_for_ns(uint64_t ns); /* in which so much is earned; not without a budget */

/*
 * Enters what recording the GPU cost, with nodes of CUDA graphs apart.  No credit pays for it.
 * Returns the sum.
 */
uint64_t budget_charge_gpu(uint64_t activities_ns, uint64_t nodes_ns);

/* Recording the GPU costs this share of the time: everything else has to do with less. */
void budget_set_gpu_share(double share);

/*
 * How much of the time the process has worked of late: by the CPU time that it has taken, and
 * waited for, looked at now and then with the credit; or as it is given by who knows what its
 * device does.
 */
void budget_measure_work(uint64_t now_ns, uint64_t (*cpu_clock)(void));
void budget_set_worked(double share);
uint64_t budget_worked_ns(uint64_t elapsed_ns); /* of it, by that */

uint64_t budget_left_ns(uint64_t elapsed_ns); /* of it, if all costs from outside as of late */
uint64_t budget_spent_ns(void);               /* by this process; 0 when not recording */

/* A function is traced no longer; children are forked with what was left out before. */
void budget_count_throttled(void);
uint64_t budget_throttled(void);

/* What the recorder has cost since the last time; budget_settle() does it, too. */
void budget_charge_recorder(void);

/* Something else than events took so much of a CPU's time that was the workload's. */
void budget_spend_ns(uint64_t ns);

/*
 * The same, of what comes once and cannot be avoided.  It is in the account and uses up credit, but
 * leaves no debt: to record less from now on would not bring it back.
 */
void budget_spend_once_ns(uint64_t ns);

/*
 * What there is to spend; negative when overdrawn, INT64_MAX without a bound.
 * The second form is for who has just looked at CLOCK_MONOTONIC; a time that
 * lies behind one given before adds nothing.
 */
int64_t budget_credit_ns(void);
int64_t budget_credit_at(uint64_t now_ns);

static inline bool budget_over(void)
{
	return budget_credit_ns() < 0;
}

#endif
