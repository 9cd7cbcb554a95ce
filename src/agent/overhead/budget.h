/*
 * The overhead budget of this process: a token bucket from the first event on.
 *
 *   what recording cost so far  <=  budget x elapsed time + BUDGET_SLACK_NS
 *
 * What the GPU costs is in the account, but no credit pays for it: it cannot be recorded in part
 * (gpu_cost.c).  Credit that is not used is kept up to a limit, so that a quiet hour does not buy
 * a slow minute.  Only time counts in which the process works,
 * by its CPU time or its device's: otherwise a server would save up credit while it waits for
 * requests, and the requests would pay.  Events are paid in lots: an event takes one decrement and
 * one branch, the clock is read at the end of a lot.  The hooks decide what to do when the bucket
 * is overdrawn.  Where other programs use the CPUs as well, recording costs the program more than
 * its own CPU time: the recorder says how much (shm_process.contention_percent).  What the recorder
 * costs the program from outside is paid from the same credit (shm_process.outside_ns).  The
 * account is kept even without a budget: the recorder reads it in the process's entry.
 *
 * Any thread, with or without the GIL.  A forked child continues with its parent's
 * credit; otherwise a program that forks often would always have fresh credit.
 */
#ifndef AGENT_OVERHEAD_BUDGET_H
#define AGENT_OVERHEAD_BUDGET_H

#include "agent/core/session.h"

#define BUDGET_SLACK_NS 10000000
#define BUDGET_FIRST_NS \
	5000000 /* credit at the start: enough for a first impression of the program */
#define BUDGET_KEEP_NS 1000000000 /* unused credit that is kept: what this much time earns */
/*
 * The part of the budget that this account may spend.  Compared over whole runs, the account was 0
 * to 3 points below what a program loses (docs/BENCHMARKS.md).  The causes found since then are
 * charged (drain_costs.c: shared cores, interrupts); the rest is reserved for unknown ones.
 */
#define BUDGET_SHARE_PCT 40u
/* The least that remains where recording the GPU costs as much as the share, or more. */
#define BUDGET_BESIDE_GPU_PCT 20u
#define BUDGET_LOT 256 /* events between two readings of the clock */

/* What an event is taken to cost until it is measured. */
#define BUDGET_UNKNOWN_PS 200000u

/* One in BUDGET_TIMED_EACH of a hook's events is timed; a power of two, less than a lot. */
#define BUDGET_TIMED_EACH 64

/* A timed event that took this many times its best time was interrupted. */
#define BUDGET_TIMED_MOST 24u

/*
 * What an event costs, in percent of its best time, where none are timed.  Measured on
 * bench/workloads, events on and off in turns, on 3.12: 80 (nothing but calls) to 200 (parsing).
 */
#define BUDGET_UNTIMED_PERCENT 150u

/*
 * The same where some hundred microseconds of other code, such as a framework's, run between
 * events, as with layers: bench/model_turns.py layers.
 */
#define BUDGET_SPARSE_PERCENT 300u

/* A recording was joined: opens the account.  Before the first event. */
void budget_start(const struct shm_header *h);

/* False: recording may cost any amount. */
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
 * and now.  The more other code runs between two events, the less of our memory and code
 * is still in the nearest caches; the same holds for the interpreter's way to the hook.
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

/* Recording the GPU costs this share of the time, which everything else has less. */
void budget_set_gpu_share(double share);

/*
 * The share of time in which the process has worked lately: by the CPU time that it used and waited
 * for, measured now and then with the credit; or set by the code that knows what its device does.
 */
void budget_measure_work(uint64_t now_ns, uint64_t (*cpu_clock)(void));
void budget_set_worked(double share);
uint64_t budget_worked_ns(uint64_t elapsed_ns); /* of it, by that */

uint64_t budget_left_ns(uint64_t elapsed_ns); /* of it, if all costs from outside as of late */
uint64_t budget_spent_ns(void);               /* by this process; 0 when not recording */

/* A function is throttled; forked children inherit the count. */
void budget_count_throttled(void);
uint64_t budget_throttled(void);

/* Charges what the recorder has cost since the last time; budget_settle() does it as well. */
void budget_charge_recorder(void);

/* Charges CPU time of the workload that something other than events took. */
void budget_spend_ns(uint64_t ns);

/*
 * The same for a cost that comes once and cannot be avoided.  It is in the account and uses up
 * credit, but leaves no debt: recording less afterwards would not bring it back.
 */
void budget_spend_once_ns(uint64_t ns);

/*
 * What there is to spend; negative when overdrawn, INT64_MAX without a bound.
 * The second form takes the present CLOCK_MONOTONIC; a time before an earlier call's adds
 * nothing.
 */
int64_t budget_credit_ns(void);
int64_t budget_credit_at(uint64_t now_ns);

static inline bool budget_over(void)
{
	return budget_credit_ns() < 0;
}

#endif
