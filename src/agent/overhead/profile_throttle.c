#include "agent/overhead/profile_throttle.h"

#include <string.h>
#include <time.h>

#include "agent/overhead/budget.h"
#include "agent/overhead/calibration.h"
#include "agent/python/calls.h"
#include "agent/python/frames.h"

#define LOT_PS 20000000                /* cost of events between two readings of the clocks */
#define PROFILE_THROTTLE_ON_NS 4000000 /* credit that an interval of tracing is begun with */
#define SWITCH_NS 30000u   /* what the program loses when the GIL worker takes the GIL, about */
#define LONGEST_NS 500000u /* of our work at one time */
#define SAMPLE_LEAST_NS 5000000 /* between two samples of the GIL worker */
#define SAMPLE_MOST_NS 20000000
#define UNDECIDED_NS 10000000u /* undecided samples are accepted for no longer than this */
#define SEEN_KEPT_NS 20000000.0
/*
 * So many times what the calibration finds events cost, where they follow each other at once and
 * where they are far apart: 0.8 to 1.3 and 1.5 to 2.0 on 3.9 (bench/workloads, on and off in turns
 * in one process).
 */
#define DENSE_TIMES 1.25
#define SPARSE_TIMES 2.0
#define CUTS 64u /* whose times are remembered */
#define PPM 1000000u
#define TAXED_SINCE 0x030a0000u /* from then on each instruction of traced code is slower */
#define TAX_LEAST 0.1           /* measured lower, it was the machine's noise */
#define TAX_UNKNOWN 0.5         /* of the time, where it could not be measured */

struct profile_throttle profile_throttle;

static const struct profile_throttle_slots *slots;
static double densest = 1; /* of the time, what events are where nothing but calls happens */
static uint64_t lot_ns;    /* CLOCK_MONOTONIC: the present lot began */
static _Atomic uint64_t cut_ns[CUTS];
static _Atomic uint32_t tax_ppm;      /* of the time in which Python code is interpreted */
static _Atomic uint64_t taxed_ns;     /* CLOCK_MONOTONIC: time before it has paid, */
static _Atomic uint64_t taxed_cpu_ns; /* and in the process's CPU time */
static _Atomic uint64_t seen_ns;      /* time that has paid lately, */
static _Atomic uint64_t found_ns;     /* and so much of it as Python's */
static bool fork_hooks_are_set, exit_hook_is_set;

static bool taxed(void)
{
	return profile_throttle_bounded() && py.version >= TAXED_SINCE;
}

/*
 * The part of a time in which no thread waited for a CPU: time in the run queue is not time in the
 * interpreter.  (Lost time weighs more there: see budget.h.)
 */
static double unqueued_ns(double passed_ns, double used_ns)
{
	const struct shm_process *self = session_process();
	double percent =
		self ? atomic_load_explicit(&self->contention_percent, memory_order_relaxed) : 0;
	double ns = passed_ns - used_ns * (percent > 100 ? percent / 100 - 1 : 0);

	return ns > 0 ? ns : 0;
}

/* `share` of the time since it was last called is taxed. */
static void pay_tax(double share)
{
	uint64_t now_ns = stamp_monotonic(), now_cpu_ns = stamp_process_cpu();
	double passed_ns =
		(double)(int64_t)(now_ns - atomic_exchange_explicit(&taxed_ns, now_ns,
								    memory_order_relaxed));
	double used_ns =
		(double)(int64_t)(now_cpu_ns - atomic_exchange_explicit(&taxed_cpu_ns, now_cpu_ns,
									memory_order_relaxed));
	double seen = unqueued_ns(passed_ns, used_ns < passed_ns ? used_ns : passed_ns);

	if (passed_ns <= 0) /* another thread came in between */
		return;
	budget_spend_ns((uint64_t)(seen * share *
				   atomic_load_explicit(&tax_ppm, memory_order_relaxed) / PPM));
	atomic_fetch_add_explicit(&seen_ns, (uint64_t)seen, memory_order_relaxed);
	atomic_fetch_add_explicit(&found_ns, (uint64_t)(seen * share), memory_order_relaxed);
}

/* The present lot is over: another begins. */
static void begin_lot(uint64_t now_ns)
{
	profile_throttle.left_ps = LOT_PS;
	lot_ns = now_ns;
}

/* For something of ours; what took longer was interrupted. */
static void pay_since(uint64_t start_ns)
{
	uint64_t ns = stamp_monotonic() - start_ns;

	budget_spend_ns(ns < LONGEST_NS ? ns : LONGEST_NS);
}

/*
 * What events have cost in so much time, by what the calibration says.  To time some of them does
 * not show the difference: most of it is the interpreter's, on the way to us.
 */
static double dear_ns(double best_ns, double passed_ns)
{
	double density = best_ns < densest * passed_ns ? best_ns / (densest * passed_ns) : 1;

	return best_ns * (SPARSE_TIMES - (SPARSE_TIMES - DENSE_TIMES) * density);
}

/* Pays for what was traced since the last check; true: it was more than there is. */
static bool settle(uint64_t now_ns)
{
	struct ring *r = session_my_ring;
	double passed_ns = (double)(now_ns - lot_ns);
	double cost_ns = dear_ns((double)(LOT_PS - profile_throttle.left_ps) / 1000, passed_ns);

	budget_spend_ns((uint64_t)(cost_ns < passed_ns ? cost_ns : passed_ns));
	if (r) /* scopes and the like */
		budget_settle(r);
	begin_lot(now_ns);
	return profile_throttle_bounded() && budget_credit_at(now_ns) < 0;
}

/* Predicts the next interval from the earlier ones; the latest counts most. */
static void begin_tax(uint64_t now_ns)
{
	double seen = (double)atomic_load_explicit(&seen_ns, memory_order_relaxed);
	double found = (double)atomic_load_explicit(&found_ns, memory_order_relaxed);
	double keep = seen > SEEN_KEPT_NS ? SEEN_KEPT_NS / seen : 1;

	atomic_store_explicit(&seen_ns, (uint64_t)(seen * keep), memory_order_relaxed);
	atomic_store_explicit(&found_ns, (uint64_t)(found * keep), memory_order_relaxed);
	atomic_store_explicit(&taxed_ns, now_ns, memory_order_relaxed);
	atomic_store_explicit(&taxed_cpu_ns, stamp_process_cpu(), memory_order_relaxed);
}

/* For time of which nothing is known: it was like the rest; at the very first, Python's. */
static double usual_share(void)
{
	double seen = (double)atomic_load_explicit(&seen_ns, memory_order_relaxed);
	double found = (double)atomic_load_explicit(&found_ns, memory_order_relaxed);

	return (found + SAMPLE_LEAST_NS) / (seen + SAMPLE_LEAST_NS);
}

/* No thread is to record from now on. */
static void end_traced_interval(void)
{
	pay_tax(usual_share());
	atomic_store_explicit(&profile_throttle.paused, true, memory_order_relaxed);
}

static const struct gil_worker_duty duty;

bool profile_throttle_evaluate(void)
{
	uint64_t start_ns = stamp_monotonic();
	bool over = settle(start_ns);

	if (over)
		end_traced_interval();
	if (over || taxed()) {
		/* Under a tax it always exists; once woken it samples by itself. */
		if (over || !gil_worker_serves(&duty))
			gil_worker_wake(&duty);
		pay_since(start_ns);
	}
	return over;
}

/* When the thread was cut, in microseconds before now. */
static uint32_t since_cut_us(const struct ring *r)
{
	/* The first cut behind its last event; of very many the oldest that is known. */
	uint32_t cut =
		profile_throttle.cuts - r->cuts > CUTS ? profile_throttle.cuts - CUTS : r->cuts;
	uint64_t us = (stamp_monotonic() - cut_ns[cut % CUTS]) / 1000u;

	return us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

void profile_throttle_record_cut(struct ring *r)
{
	if (!r->in_step || r->cuts == profile_throttle.cuts)
		return;
	ring_push(r, RECORD_PAUSED, since_cut_us(r));
	r->in_step = false;
}

void profile_throttle_clear_slot(struct ring *r)
{
	profile_throttle_record_cut(r);
	if (r->in_step)
		ring_push(r, RECORD_PAUSED, 0);
	r->in_step = false;
}

/* The main thread outlives the interpreter. */
static void at_interpreter_end(void)
{
	struct ring *r = session_on() ? session_my_ring : NULL;

	exit_hook_is_set = false; /* CPython calls it once */
	if (r)
		profile_throttle_record_cut(r);
}

void profile_throttle_enter_slow(struct ring *r, int what)
{
	uint64_t start_ns = stamp_monotonic();

	profile_throttle_record_cut(r);
	calls_record_stack(r, what == PY_TRACE_CALL);
	r->cuts = profile_throttle.cuts;
	pay_since(start_ns);
}

/* The time since the last check is taxed, by what a single sample finds. */
static void sample_and_tax(uint64_t now_ns)
{
	uint64_t passed_ns = now_ns - atomic_load_explicit(&taxed_ns, memory_order_relaxed);
	uint64_t used_ns =
		stamp_process_cpu() - atomic_load_explicit(&taxed_cpu_ns, memory_order_relaxed);
	double share;

	switch (gil_activity_sample(&share)) {
	case GIL_ACTIVITY_KNOWN:
		pay_tax(share);
		break;
	case GIL_ACTIVITY_UNKNOWN: /* whatever has run may have been Python's */
		pay_tax(used_ns < passed_ns ? (double)used_ns / (double)passed_ns : 1);
		break;
	case GIL_ACTIVITY_UNDECIDED: /* the next check may find more */
		if (passed_ns > UNDECIDED_NS)
			pay_tax(usual_share());
		break;
	}
}

/* When to sample again: sooner if there is less to lose, and not in step with the program. */
static uint64_t next_sample_at(uint64_t now_ns, int64_t credit)
{
	static uint32_t random = 1;
	int64_t wait = credit / 2;

	wait = wait < SAMPLE_LEAST_NS  ? SAMPLE_LEAST_NS
	       : wait > SAMPLE_MOST_NS ? SAMPLE_MOST_NS
				       : wait;
	random = random * 1664525u + 1013904223u;
	return now_ns + (uint64_t)wait / 2 + (uint64_t)wait * (random >> 16) / 65536u;
}

/* The GIL worker: without the GIL. */
static uint64_t evaluate_due(uint64_t now_ns)
{
	struct session *s = session_on();
	int64_t credit;

	if (!s || !profile_throttle_bounded() || !s->header->budget_ppm)
		return GIL_WORKER_NEVER;
	if (profile_throttle_paused()) {
		budget_charge_recorder(); /* no event does it */
		credit = budget_credit_at(now_ns);
		return credit >= PROFILE_THROTTLE_ON_NS
			       ? GIL_WORKER_NOW
			       : now_ns + budget_time_for_ns(
						  (uint64_t)(PROFILE_THROTTLE_ON_NS - credit));
	}
	if (!taxed())
		return GIL_WORKER_NEVER;
	sample_and_tax(now_ns);
	credit = budget_credit_at(now_ns);
	return credit < 0 ? GIL_WORKER_NOW : next_sample_at(now_ns, credit);
}

static void cut(uint64_t now_ns)
{
	uint32_t number = profile_throttle.cuts; /* changed only with the GIL */

	slots->clear();
	/* A thread that ends has no GIL: it must not see the cut before its time. */
	cut_ns[number % CUTS] = now_ns;
	profile_throttle.cuts = number + 1;
	end_traced_interval();
}

static void resume(uint64_t now_ns)
{
	atomic_store_explicit(&profile_throttle.paused, false, memory_order_relaxed);
	begin_tax(now_ns);
	begin_lot(now_ns);
	slots->set();
}

/* The GIL worker: with the GIL. */
static void work(void)
{
	uint64_t now_ns = stamp_monotonic();

	if (!session_on() || !profile_throttle_bounded())
		return;
	/* While we waited for the GIL, a thread may have ended the interval of tracing that we
	 * wanted to end. */
	if (profile_throttle_paused() && budget_credit_at(now_ns) >= PROFILE_THROTTLE_ON_NS)
		resume(now_ns);
	else if (!profile_throttle_paused() && settle(now_ns))
		cut(now_ns);
	budget_spend_ns(SWITCH_NS);
	pay_since(now_ns);
}

static const struct gil_worker_duty duty = { evaluate_due, work };

/* In a forked child: it has no GIL worker to resume tracing, and its CPU time starts at 0. */
static PyObject *after_fork(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	if (profile_throttle_bounded() && session_on()) {
		resume(stamp_monotonic());
		profile_throttle.left_ps =
			-1; /* its first event checks, and wakes a GIL worker of its own */
	}
	return py_new_ref(py.None);
}

static struct py_method after_fork_method = { "inferscope_after_fork", after_fork, PY_NO_ARGS,
					      NULL };

/* os.register_at_fork(after_in_child=...); there is no way to take it back. */
static bool register_fork_hook(void)
{
	PyObject *os = py.Import("posix");
	PyObject *function = os ? py.GetAttr(os, "register_at_fork") : NULL;
	PyObject *callback = py.CFunction(&after_fork_method, NULL, NULL);
	PyObject *key = py.Unicode_From("after_in_child"), *keywords = py.Dict_New();
	PyObject *none = py.Tuple_New(0), *result = NULL;

	if (function && callback && key && keywords && none &&
	    !py.Dict_Set(keywords, key, callback))
		result = py.CallKeywords(function, none, keywords);
	py_drop(os);
	py_drop(function);
	py_drop(callback);
	py_drop(key);
	py_drop(keywords);
	py_drop(none);
	py_drop(result);
	py.Err_Clear();
	return result != NULL;
}

void profile_throttle_start(const struct profile_throttle_slots *profile_slots)
{
	struct session *s = session_on();
	bool bounded = s && s->header->cpu_mode == SHM_CPU_AUTO && budget_bounded();

	slots = profile_slots;
	memset(profile_throttle.cost_ps, 0, sizeof(profile_throttle.cost_ps));
	profile_throttle.cuts = 0; /* rings of this recording know of none */
	atomic_store_explicit(&profile_throttle.paused, false, memory_order_relaxed);
	atomic_store_explicit(&tax_ppm, 0, memory_order_relaxed);
	atomic_store_explicit(&seen_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&found_ns, 0, memory_order_relaxed);
	if (bounded) {
		frames_init(); /* where it fails, an interval of tracing begins with an empty stack
				*/
		if (py.version >= TAXED_SINCE)
			gil_activity_init();
		if (!fork_hooks_are_set)
			fork_hooks_are_set = register_fork_hook();
	}
	begin_lot(stamp_monotonic());
	atomic_store_explicit(&profile_throttle.bounded, bounded, memory_order_relaxed);
}

/* Of `plain` and what it became, the part that is not tax, for each event. */
static uint32_t cost_ps(double plain, double hooked, double tax)
{
	double ps = (hooked * (1 - tax) - plain) * 1000 / (2 * CALIBRATION_ROUNDS);

	return ps > 1 ? (uint32_t)ps : 1;
}

/*
 * Traced Python code takes longer by the tax on all its time and by what its events
 * cost besides: three unknowns, three measurements.
 */
void profile_throttle_set_costs(void)
{
	double plain[CALIBRATIONS], hooked[CALIBRATIONS], tax = 0;
	uint32_t call_ps = BUDGET_UNKNOWN_PS, c_call_ps = BUDGET_UNKNOWN_PS;
	bool known = true;

	for (int i = 0; i < CALIBRATIONS; i++) {
		plain[i] = (double)calibration_plain_ns(i);
		hooked[i] = (double)calibration_hooked_ns(i);
		known &= plain[i] > 0 && hooked[i] > 0;
	}
	known &=
		hooked[CALIBRATION_CALLS] > plain[CALIBRATION_CALLS]; /* else ours was not called */
	if (taxed() && known && hooked[CALIBRATION_LOOP] > plain[CALIBRATION_LOOP])
		tax = 1 - plain[CALIBRATION_LOOP] / hooked[CALIBRATION_LOOP];
	else if (taxed() && !known)
		tax = TAX_UNKNOWN;
	if (taxed() && tax < TAX_LEAST)
		tax = TAX_LEAST;
	if (known) {
		call_ps = cost_ps(plain[CALIBRATION_CALLS], hooked[CALIBRATION_CALLS], tax);
		c_call_ps = cost_ps(plain[CALIBRATION_C_CALLS], hooked[CALIBRATION_C_CALLS], tax);
		densest = call_ps / 1000.0 * 2 * CALIBRATION_ROUNDS / hooked[CALIBRATION_CALLS];
	}
	for (int i = 0; i < PROFILE_THROTTLE_EVENTS; i++)
		profile_throttle.cost_ps[i] = i >= PY_TRACE_C_CALL ? c_call_ps : call_ps;
	begin_lot(stamp_monotonic());
	begin_tax(stamp_monotonic());
	atomic_store_explicit(&tax_ppm, (uint32_t)(tax * PPM), memory_order_relaxed);
	if (!taxed())
		return;
	/* A program that never calls anything pays, too. */
	gil_worker_wake(&duty);
	atomic_store_explicit(&session_thread_ends, profile_throttle_record_cut,
			      memory_order_relaxed);
	if (!exit_hook_is_set)
		exit_hook_is_set = !py.AtExit(at_interpreter_end);
}

void profile_throttle_stop(void)
{
	atomic_store_explicit(&profile_throttle.bounded, false, memory_order_relaxed);
}
