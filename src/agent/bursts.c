#include "agent/bursts.h"

#include <dlfcn.h>
#include <string.h>
#include <time.h>

#include "agent/budget.h"
#include "agent/codes.h"
#include "agent/frames.h"
#include "agent/tender.h"

#define LOT_PS 20000000   /* what events may cost between two looks at the clocks */
#define BURST_NS 4000000  /* credit that a burst is begun with */
#define SWITCH_NS 30000u  /* what the program loses when the tender takes the GIL, about */
#define LOOK_NS 20000000u /* the tender's way of telling a loop without calls from a busy burst */
#define CUTS 64u          /* whose times are remembered */
#define PPM 1000000u

struct bursts bursts;

static const struct bursts_slots *slots;
static _Atomic uint64_t looked_ns;  /* the last look at the clocks: CLOCK_MONOTONIC, */
static _Atomic uint64_t looked_cpu; /* the process's CPU time, */
static uint64_t looked_ticks;       /* and the session's clock */
static uint64_t cut_ns[CUTS];
static bool forks_are_told;

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Where the GIL counts how often another thread took it; the holder's address lies before. */
static const struct {
	uint32_t version;
	uint16_t holder, switches;
} gil_layouts[] = {
	{ 0x030a, 360, 376 },
	{ 0x030b, 368, 384 },
};

static const unsigned long *gil_switches; /* NULL: not known; then C functions earn no rebate */

/* With the GIL, so that we know its holder. */
static void find_gil_switches(void)
{
	const char *runtime = py.Runtime;

	gil_switches = NULL;
	for (size_t i = 0; runtime && i < sizeof(gil_layouts) / sizeof(gil_layouts[0]); i++) {
		const char *holder;

		if (gil_layouts[i].version != py.version >> 16)
			continue;
		memcpy(&holder, runtime + gil_layouts[i].holder, sizeof(holder));
		if (holder == py.ThreadState_Get())
			gil_switches = (const void *)(runtime + gil_layouts[i].switches);
	}
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

static void begin_lot(uint64_t now_ns)
{
	struct session *s = session_on();

	bursts.left_ps = LOT_PS;
	atomic_store_explicit(&looked_ns, now_ns, memory_order_relaxed);
	if (!bursts.tax_ppm || !s)
		return;
	bursts.c_ticks = 0;
	looked_ticks = stamp_now(s->header->clock);
	atomic_store_explicit(&looked_cpu, cpu_ns(), memory_order_relaxed);
	/* What runs on counts from here. */
	if (atomic_load_explicit(&bursts.c_since, memory_order_relaxed))
		atomic_store_explicit(&bursts.c_since, looked_ticks, memory_order_relaxed);
}

/* What Python code has lost since the last look because it was traced. */
static uint64_t tax_ns(uint64_t now_ns)
{
	struct session *s = session_on();
	uint64_t passed_ns = now_ns - atomic_load_explicit(&looked_ns, memory_order_relaxed);
	uint64_t used_ns = cpu_ns() - atomic_load_explicit(&looked_cpu, memory_order_relaxed);
	uint64_t ticks = s ? stamp_now(s->header->clock) - looked_ticks : 0;

	if (ticks && bursts.c_ticks <= ticks)
		passed_ns = (uint64_t)((double)passed_ns * (double)(ticks - bursts.c_ticks) /
				       (double)ticks);
	/* Who waits pays nothing. */
	if (passed_ns > used_ns)
		passed_ns = used_ns;
	return passed_ns * bursts.tax_ppm / PPM;
}

/* Pays for what was traced since the last look; true: the bucket is overdrawn. */
static bool settle(uint64_t now_ns)
{
	uint64_t cost_ns = (uint64_t)(LOT_PS - bursts.left_ps) / 1000u;

	if (bursts.tax_ppm)
		cost_ns += tax_ns(now_ns);
	budget_spend_ns(cost_ns);
	begin_lot(now_ns);
	return budget_credit_at(now_ns) < 0;
}

static const struct tender_duty duty;

bool bursts_look(void)
{
	uint64_t start_ns = stamp_monotonic();
	bool over = settle(start_ns);

	if (over)
		atomic_store_explicit(&bursts.paused, true, memory_order_relaxed);
	if (over || bursts.tax_ppm) {
		/* Under a tax it must be there all the time; it is woken once and then by itself.
		 */
		if (over || !tender_serves(&duty))
			tender_wake(&duty);
		budget_spend_ns(stamp_monotonic() - start_ns);
	}
	return over;
}

void bursts_leave(struct ring *r)
{
	if (r->in_step && r->cuts == bursts.cuts)
		ring_push(r, RECORD_PAUSED, 0);
	r->in_step = false;
}

/* When the thread was cut, in microseconds before now. */
static uint32_t since_cut_us(const struct ring *r)
{
	/* The first cut behind its last event; of very many the oldest that is known. */
	uint32_t cut = bursts.cuts - r->cuts > CUTS ? bursts.cuts - CUTS : r->cuts;
	uint64_t us = (stamp_monotonic() - cut_ns[cut % CUTS]) / 1000u;

	return us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

void bursts_enter_slow(struct ring *r, int what)
{
	struct frame_ref frames[FRAMES_MAX];
	uint64_t start_ns = stamp_monotonic();
	size_t n, entered = what == PY_TRACE_CALL; /* that one is recorded as a call */

	if (r->in_step)
		ring_push(r, RECORD_PAUSED, since_cut_us(r));
	n = frames_read(frames);
	while (n > entered) {
		PyObject *code = (PyObject *)(uintptr_t)frames[--n].code;
		struct code_note *note = codes_note(r, code);

		ring_push(r, RECORD_RUNNING, note ? note->id : 0);
	}
	r->in_step = true;
	r->cuts = bursts.cuts;
	budget_spend_ns(stamp_monotonic() - start_ns);
}

/* The tender: without the GIL. */
static uint64_t look(uint64_t now_ns)
{
	struct session *s = session_on();
	uint64_t passed_ns, used_ns, tax;
	int64_t credit;

	if (!s || !bursts_bounded() || !s->header->budget_ppm)
		return TENDER_NEVER;
	credit = budget_credit_at(now_ns);
	if (bursts_paused())
		return credit >= BURST_NS ? TENDER_NOW
					  : now_ns + (uint64_t)(BURST_NS - credit) * PPM /
							     s->header->budget_ppm;
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
	budget_spend_ns(SWITCH_NS + stamp_monotonic() - now_ns);
}

static const struct tender_duty duty = { look, work };

/* In a forked child: nobody will switch on what is off, and its CPU time starts anew. */
static PyObject *after_fork(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	if (bursts_bounded() && session_on())
		resume(stamp_monotonic());
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
	uint32_t event_ps = budget_event_cost_ps() ? budget_event_cost_ps() : BUDGET_UNKNOWN_PS;

	slots = profile_slots;
	if (!s || s->header->cpu_mode != SHM_CPU_AUTO || s->header->budget_ppm == SHM_NO_BUDGET)
		return;
	frames_init(); /* where it fails, a burst begins with an empty stack */
	if (!forks_are_told)
		forks_are_told = tell_forks();
	for (int i = 0; i < BURSTS_EVENTS; i++)
		bursts.cost_ps[i] = i >= PY_TRACE_C_CALL ? 25000 : event_ps;
	bursts.tax_ppm = py.version >= 0x030b0000 ? 400000 : py.version >= 0x030a0000 ? 220000 : 0;
	if (bursts.tax_ppm)
		find_gil_switches();
	atomic_store_explicit(&bursts.paused, false, memory_order_relaxed);
	atomic_store_explicit(&bursts.c_since, 0, memory_order_relaxed);
	begin_lot(stamp_monotonic());
	atomic_store_explicit(&bursts.bounded, true, memory_order_relaxed);
}

void bursts_stop(void)
{
	atomic_store_explicit(&bursts.bounded, false, memory_order_relaxed);
}
