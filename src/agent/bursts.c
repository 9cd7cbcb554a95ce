#include "agent/bursts.h"

#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "agent/budget.h"
#include "agent/calibration.h"
#include "agent/calls.h"
#include "agent/frames.h"
#include "agent/tender.h"
#include "format/py_layout.h"

#define LOT_PS 20000000   /* what events may cost between two looks at the clocks */
#define BURST_NS 4000000  /* credit that a burst is begun with */
#define FIRST_NS 5000000  /* there from the start */
#define SWITCH_NS 30000u  /* what the program loses when the tender takes the GIL, about */
#define LOOK_NS 20000000u /* the tender's way of telling a loop without calls from a busy burst */
#define STALL_NS 500000u  /* no look takes that long to come while Python code calls */
#define STALL_PRIOR_NS 5000000u /* a single stall says little about so short a time */
#define CUTS 64u                /* whose times are remembered */
#define PPM 1000000u
#define SECOND_NS 1000000000u
#define TAXED_SINCE 0x030a0000u /* from then on each instruction of traced code is slower */
#define TAX_LEAST 0.1           /* measured lower, it was the machine's noise */
#define TAX_UNKNOWN 0.5         /* of the time, where it could not be measured */

struct bursts bursts;

static const struct bursts_slots *slots;
static _Atomic uint64_t looked_ns;  /* the last look at the clocks: CLOCK_MONOTONIC, */
static _Atomic uint64_t looked_cpu; /* the process's CPU time, */
static uint64_t looked_ticks;       /* and the session's clock */
static _Atomic uint64_t cut_ns[CUTS];
static _Atomic int64_t credit_ns; /* of that share, at looked_ns */
static double ran_ns, stalled_ns; /* while traced: see note_stall() */
static bool forks_are_told, end_is_told;

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static const unsigned long *gil_switches; /* NULL: not known; then C functions earn no rebate */

/* With the GIL, so that we know its holder. */
static void find_gil_switches(void)
{
	const struct py_layout *l = py_layout_find(py.version);
	const char *gil = l && l->gil_is_global && py.Runtime ? py.Runtime + l->gil : NULL;
	const char *holder = NULL;

	if (gil)
		memcpy(&holder, gil + PY_GIL_HOLDER, sizeof(holder));
	gil_switches = holder && holder == py.ThreadState_Get()
			       ? (const void *)(gil + PY_GIL_SWITCHES)
			       : NULL;
}

/* `others`: changes of the GIL's holder that are no other Python code's. */
static void leave_c_function(uint64_t ticks, unsigned others)
{
	uint64_t since = atomic_load_explicit(&bursts.c_since, memory_order_relaxed);

	if (since && *gil_switches == bursts.c_switches + others)
		bursts.c_ticks += ticks - since;
}

/*
 * Time between the call of a C function and the thread's next event is not taxed, unless
 * another thread had the GIL meanwhile: it may have run anything.
 */
void bursts_follow_c_functions(int what)
{
	struct session *s = session_on();
	uint64_t ticks;

	if (!s || !gil_switches)
		return;
	ticks = stamp_now(s->header->clock);
	if (bursts.c_thread == &session_my_ring)
		leave_c_function(ticks, 0);
	bursts.c_thread = &session_my_ring;
	bursts.c_switches = *gil_switches;
	atomic_store_explicit(&bursts.c_since, what == PY_TRACE_C_CALL ? ticks : 0,
			      memory_order_relaxed);
}

/* Has the calling thread gone to sleep of its own accord since it was last asked?  True, too, where
 * another one was. */
static bool has_slept(void)
{
	static const void *asked;
	static long before;
	bool other = asked != &session_my_ring;
	long then = before;
	struct rusage usage;

	if (getrusage(RUSAGE_THREAD, &usage))
		return true;
	asked = &session_my_ring;
	before = usage.ru_nvcsw;
	return other || before != then;
}

/*
 * Time between two looks in which the process neither ran nor slept: it waited for a CPU.  On a
 * machine that is busy with other things, what we do to the program takes longer in the
 * same measure, and is charged so.
 */
static void note_stall(uint64_t passed_ns, uint64_t used_ns)
{
	if (passed_ns < STALL_NS || passed_ns < 2 * used_ns)
		ran_ns += (double)passed_ns;
	else if (!has_slept())
		stalled_ns += (double)(passed_ns - used_ns);
}

/* What Python code has lost since the last look because it was traced. */
static uint64_t tax_ns(uint64_t passed_ns, uint64_t used_ns)
{
	struct session *s = session_on();
	uint64_t ticks = s ? stamp_now(s->header->clock) - looked_ticks : 0;

	if (ticks && bursts.c_ticks <= ticks)
		passed_ns = (uint64_t)((double)passed_ns * (double)(ticks - bursts.c_ticks) /
				       (double)ticks);
	/* Who waits pays nothing. */
	if (passed_ns > used_ns)
		passed_ns = used_ns;
	return passed_ns * bursts.tax_ppm / PPM;
}

/* What calls may cost of so much time; at most a second's is kept. */
static int64_t earned(uint64_t passed_ns)
{
	return (int64_t)budget_earned_ns(passed_ns < SECOND_NS ? passed_ns : SECOND_NS);
}

/* Without the GIL, too, while recording pauses. */
static int64_t own_credit_at(uint64_t now_ns)
{
	uint64_t passed_ns = now_ns - atomic_load_explicit(&looked_ns, memory_order_relaxed);
	int64_t most = FIRST_NS + earned(SECOND_NS);
	int64_t own = atomic_load_explicit(&credit_ns, memory_order_relaxed) + earned(passed_ns);

	return own < most ? own : most;
}

static int64_t credit_at(uint64_t now_ns)
{
	int64_t own = own_credit_at(now_ns), shared = budget_credit_at(now_ns);

	return own < shared ? own : shared;
}

/* The present lot is over: looks at the clocks, and begins another. */
static void begin_lot(uint64_t now_ns)
{
	struct session *s = session_on();

	bursts.left_ps = LOT_PS;
	atomic_store_explicit(&credit_ns, own_credit_at(now_ns), memory_order_relaxed);
	atomic_store_explicit(&looked_ns, now_ns, memory_order_relaxed);
	atomic_store_explicit(&looked_cpu, cpu_ns(), memory_order_relaxed);
	if (!bursts.tax_ppm || !s)
		return;
	bursts.c_ticks = 0;
	looked_ticks = stamp_now(s->header->clock);
	/* What runs on counts from here. */
	if (atomic_load_explicit(&bursts.c_since, memory_order_relaxed))
		atomic_store_explicit(&bursts.c_since, looked_ticks, memory_order_relaxed);
}

static void pay(uint64_t ns)
{
	atomic_fetch_sub_explicit(&credit_ns, (int64_t)ns, memory_order_relaxed);
	budget_spend_ns(ns);
}

/* For something of ours; what took longer than all that we do at once was interrupted. */
static void pay_since(uint64_t start_ns)
{
	uint64_t ns = stamp_monotonic() - start_ns;

	pay(ns < STALL_NS ? ns : STALL_NS);
}

/* Pays for what was traced since the last look; true: it was more than there is. */
static bool settle(uint64_t now_ns)
{
	struct ring *r = session_my_ring;
	uint64_t cost_ns = (uint64_t)(LOT_PS - bursts.left_ps) / 1000u;
	uint64_t passed_ns = now_ns - atomic_load_explicit(&looked_ns, memory_order_relaxed);
	uint64_t used_ns = cpu_ns() - atomic_load_explicit(&looked_cpu, memory_order_relaxed);
	bool over;

	if (bursts.tax_ppm)
		cost_ns += tax_ns(passed_ns, used_ns);
	note_stall(passed_ns, used_ns);
	cost_ns = (uint64_t)((double)cost_ns * (1 + stalled_ns / (ran_ns + STALL_PRIOR_NS)));
	pay(cost_ns < passed_ns ? cost_ns : passed_ns);
	if (r) /* scopes and the like, and the recorder where it shares our core */
		budget_settle(r);
	over = bursts_bounded() && credit_at(now_ns) < 0;
	begin_lot(now_ns);
	return over;
}

static const struct tender_duty duty;

bool bursts_look(void)
{
	uint64_t start_ns = stamp_monotonic();
	bool over = settle(start_ns);

	if (over)
		atomic_store_explicit(&bursts.paused, true, memory_order_relaxed);
	if (over || bursts.tax_ppm) {
		/* Under a tax it is there all the time; once woken it looks by itself. */
		if (over || !tender_serves(&duty))
			tender_wake(&duty);
		pay_since(start_ns);
	}
	return over;
}

/* When the thread was cut, in microseconds before now. */
static uint32_t since_cut_us(const struct ring *r)
{
	/* The first cut behind its last event; of very many the oldest that is known. */
	uint32_t cut = bursts.cuts - r->cuts > CUTS ? bursts.cuts - CUTS : r->cuts;
	uint64_t us = (stamp_monotonic() - cut_ns[cut % CUTS]) / 1000u;

	return us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

void bursts_tell_cut(struct ring *r)
{
	if (!r->in_step || r->cuts == bursts.cuts)
		return;
	ring_push(r, RECORD_PAUSED, since_cut_us(r));
	r->in_step = false;
}

void bursts_leave(struct ring *r)
{
	bursts_tell_cut(r);
	if (r->in_step)
		ring_push(r, RECORD_PAUSED, 0);
	r->in_step = false;
}

/* The main thread outlives the interpreter. */
static void at_interpreter_end(void)
{
	struct ring *r = session_on() ? session_my_ring : NULL;

	end_is_told = false; /* CPython calls it once */
	if (r)
		bursts_tell_cut(r);
}

void bursts_enter_slow(struct ring *r, int what)
{
	uint64_t start_ns = stamp_monotonic();

	bursts_tell_cut(r);
	calls_place(r, what == PY_TRACE_CALL);
	r->cuts = bursts.cuts;
	pay_since(start_ns);
}

/* The tender: without the GIL. */
static uint64_t look(uint64_t now_ns)
{
	struct session *s = session_on();
	uint64_t passed_ns, used_ns, tax;
	int64_t credit;

	if (!s || !bursts_bounded() || !s->header->budget_ppm)
		return TENDER_NEVER;
	credit = credit_at(now_ns);
	if (bursts_paused())
		return credit >= BURST_NS
			       ? TENDER_NOW
			       : now_ns + (uint64_t)(BURST_NS - credit) * PPM /
						  s->header->budget_ppm * 100u / BUDGET_SHARE_PCT;
	if (!bursts.tax_ppm)
		return TENDER_NEVER;
	/* At most so much has been lost; events that came by meanwhile have paid. */
	passed_ns = now_ns - atomic_load_explicit(&looked_ns, memory_order_relaxed);
	used_ns = cpu_ns() - atomic_load_explicit(&looked_cpu, memory_order_relaxed);
	tax = (passed_ns < used_ns ? passed_ns : used_ns) * bursts.tax_ppm / PPM;
	if ((int64_t)tax <= credit)
		return now_ns + LOOK_NS;
	return TENDER_NOW;
}

static void cut(uint64_t now_ns)
{
	slots->clear();
	cut_ns[bursts.cuts++ % CUTS] = now_ns;
	atomic_store_explicit(&bursts.paused, true, memory_order_relaxed);
}

static void resume(uint64_t now_ns)
{
	atomic_store_explicit(&bursts.paused, false, memory_order_relaxed);
	atomic_store_explicit(&bursts.c_since, 0, memory_order_relaxed);
	/* The latest bursts count most: other programs come and go. */
	stalled_ns *= 0.75;
	ran_ns *= 0.75;
	begin_lot(now_ns);
	slots->set();
}

/* The tender: with the GIL. */
static void work(void)
{
	uint64_t now_ns = stamp_monotonic();
	struct session *s = session_on();

	if (!s || !bursts_bounded())
		return;
	if (bursts_paused()) {
		resume(now_ns);
	} else {
		/* One change of the holder was to us, another will be back. */
		if (gil_switches) {
			leave_c_function(stamp_now(s->header->clock), 1);
			bursts.c_switches = *gil_switches + 1;
		}
		if (settle(now_ns))
			cut(now_ns);
	}
	pay(SWITCH_NS);
	pay_since(now_ns);
}

static const struct tender_duty duty = { look, work };

/* In a forked child: nobody will switch on what is off, and its CPU time starts anew. */
static PyObject *after_fork(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	if (bursts_bounded() && session_on()) {
		resume(stamp_monotonic());
		bursts.left_ps = -1; /* its first event looks, and wakes a tender of its own */
	}
	return py_new_ref(py.None);
}

static struct py_method after_fork_method = { "inferscope_after_fork", after_fork, PY_NO_ARGS,
					      NULL };

/* os.register_at_fork(after_in_child=...); there is no way to take it back. */
static bool tell_forks(void)
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

void bursts_start(const struct bursts_slots *profile_slots)
{
	struct session *s = session_on();
	bool bounded =
		s && s->header->cpu_mode == SHM_CPU_AUTO && s->header->budget_ppm != SHM_NO_BUDGET;

	slots = profile_slots;
	memset(bursts.cost_ps, 0, sizeof(bursts.cost_ps));
	bursts.cuts = 0; /* rings of this recording know of none */
	atomic_store_explicit(&bursts.paused, false, memory_order_relaxed);
	atomic_store_explicit(&bursts.c_since, 0, memory_order_relaxed);
	bursts.tax_ppm = 0;
	if (bounded) {
		frames_init(); /* where it fails, a burst begins with an empty stack */
		if (!forks_are_told)
			forks_are_told = tell_forks();
		if (py.version >= TAXED_SINCE) {
			find_gil_switches();
			bursts.tax_ppm = 1; /* so that following C functions is calibrated, too */
		}
	}
	atomic_store_explicit(&looked_ns, stamp_monotonic(), memory_order_relaxed);
	atomic_store_explicit(&credit_ns, FIRST_NS, memory_order_relaxed);
	begin_lot(stamp_monotonic());
	atomic_store_explicit(&bursts.bounded, bounded, memory_order_relaxed);
}

/* Of `plain` and what it became, the part that is not tax, for each of so many events. */
static uint32_t cost_ps(double plain, double hooked, double tax, double events)
{
	double ps = (hooked * (1 - tax) - plain) * 1000 / events;

	return ps > 1 ? (uint32_t)ps : 1;
}

/*
 * Traced Python code takes longer by the tax on all its time and by what its events
 * cost besides: three unknowns, three measurements.
 */
void bursts_set_costs(void)
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
	if (bursts.tax_ppm && known && hooked[CALIBRATION_LOOP] > plain[CALIBRATION_LOOP])
		tax = 1 - plain[CALIBRATION_LOOP] / hooked[CALIBRATION_LOOP];
	else if (bursts.tax_ppm && !known)
		tax = TAX_UNKNOWN;
	if (bursts.tax_ppm && tax < TAX_LEAST)
		tax = TAX_LEAST;
	if (known) {
		call_ps = cost_ps(plain[CALIBRATION_CALLS], hooked[CALIBRATION_CALLS], tax,
				  2 * CALIBRATION_ROUNDS);
		c_call_ps = cost_ps(plain[CALIBRATION_C_CALLS], hooked[CALIBRATION_C_CALLS], tax,
				    2 * CALIBRATION_ROUNDS);
	}
	for (int i = 0; i < BURSTS_EVENTS; i++)
		bursts.cost_ps[i] = i >= PY_TRACE_C_CALL ? c_call_ps : call_ps;
	bursts.tax_ppm = bursts.tax_ppm ? (uint32_t)(tax * PPM) : 0;
	begin_lot(stamp_monotonic());
	if (!bursts.tax_ppm)
		return;
	/* A program that never calls anything pays, too. */
	tender_wake(&duty);
	atomic_store_explicit(&session_thread_ends, bursts_tell_cut, memory_order_relaxed);
	if (!end_is_told)
		end_is_told = !py.AtExit(at_interpreter_end);
}

void bursts_stop(void)
{
	atomic_store_explicit(&bursts.bounded, false, memory_order_relaxed);
}
