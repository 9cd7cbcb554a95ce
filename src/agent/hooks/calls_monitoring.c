/*
 * Calls through sys.monitoring (CPython 3.12 and later), callbacks in C.
 *
 * The events are switched on for the whole interpreter, so every thread is
 * covered, those that C code creates included.  A place in a function whose
 * callback returns DISABLE costs nothing from then on: so the functions go that
 * function_throttle.h finds too expensive.  Exits by exception cannot be switched off by place.
 */
#include "agent/hooks/native_scopes.h"
#include "agent/overhead/calibration.h"
#include "agent/overhead/function_throttle.h"
#include "agent/python/calls.h"
#include "agent/torch/layer_throttle.h"
#include "agent/torch/torch_memory.h"

/*
 * Ids without a role in the documentation, then the optimizer's.  Those of
 * debuggers, coverage and profilers are left to the workload, which would
 * otherwise see them taken.
 */
static const int tool_ids[] = { 3, 4, 5 };

#define LAST_TOOL_ID 5  /* that Python programs can have */
#define RUN_AGAIN 1000u /* functions, when all are listened to again */

static int tool = -1;
static PyObject *monitoring;              /* the module-like namespace sys.monitoring */
static PyObject *disable;                 /* sys.monitoring.DISABLE */
static bool left_disabled;                /* some locations are switched off */
static bool discovering;                  /* see calls_discover() */
static long all_events, unwinding_events; /* bits of sys.monitoring.events */

static void obey(enum function_throttle_order order);
static bool is_pausing_too_costly(void);
static void take_turn(void);

static void stop(void);

static bool rests(const struct code_note *note)
{
	return note && note->watch && watched_function_is_paused(note->watch);
}

/*
 * An event of a watched function that no adapter needs at present.  Its returns stay enabled if the
 * budget allows: they may be the only events at which to check whether to resume.
 */
static PyObject *unheard(uint8_t kind, bool can_disable)
{
	if (!can_disable ||
	    (layer_throttle.rests && kind == RECORD_RETURN && !is_pausing_too_costly()))
		return py.None;
	left_disabled = true;
	return py_new_ref(disable);
}

/* False: no adapter watches the function. */
static bool notify_watchers(struct ring *r, uint8_t kind, const struct code_note *note)
{
	if (note && note->watch)
		watched_function_event(r, note->watch, kind);
	else if (note && layer_throttle_records(note->forward))
		watched_forward_event(r, note->forward, kind);
	else
		return false;
	if (__builtin_expect(layer_throttle.turn != LAYER_TURN_NONE, 0))
		take_turn();
	return true;
}

/* Only functions that are watched are of interest a second time. */
static PyObject *discovered(struct ring *r, uint8_t kind, const struct code_note *note,
			    bool can_disable)
{
	if (rests(note))
		return unheard(kind, can_disable);
	if (!notify_watchers(r, kind, note))
		return can_disable ? py_new_ref(disable) : py.None;
	budget_count(r, 1); /* the hook; what the adapter takes is charged by watched_functions.c */
	return py.None;
}

/* The name of a thread is not to wait for a whole lot. */
static void shorten_lot(struct ring *r)
{
	uint64_t until = r->name_at - r->produced;

	if (r->name_at > r->produced && r->lot == r->allowance && until < (uint64_t)r->lot)
		r->lot = r->allowance = (int32_t)until;
}

/* There is something to do besides recording the event. */
static PyObject *record_slow(struct ring *r, uint8_t kind, struct code_note *note, bool can_disable)
{
	bool resting;

	if (note && note->calls_unheard && kind == RECORD_CALL) {
		note->calls_unheard = false;
		native_scopes_listen(note->code);
	}
	if (r->decisions_seen != function_throttle_decisions)
		function_throttle_push_decisions(r);
	if (r->allowance < 0) {
		if (r->produced >= r->name_at)
			calls_prepare_thread(r, kind);
		obey(function_throttle_evaluate(r, note, kind));
		shorten_lot(r);
		torch_memory_poll(r);
	}
	resting = rests(note);
	if (resting && !note->throttled)
		function_throttle_pause(note);
	if (r->decisions_seen != function_throttle_decisions)
		function_throttle_push_decisions(r);
	if (resting)
		return unheard(kind, can_disable);
	if (!note || !note->throttled)
		ring_push(r, kind, note ? note->id : 0);
	if (!notify_watchers(r, kind, note) && note && note->throttled && can_disable) {
		left_disabled = true;
		return py_new_ref(disable);
	}
	return py.None;
}

/* A callback's result needs no new reference: None and DISABLE outlive us, None is immortal. */
static inline PyObject *record(uint8_t kind, PyObject *code, bool can_disable)
{
	struct ring *r = session_ring();
	struct code_note *note;
	uint64_t start;

	if (__builtin_expect(!r, 0)) {
		if (!session_on()) /* over: no function costs anything from now on */
			stop();
		return py.None;
	}
	start = stamp_now(r->clock);
	note = codes_note(r, code);
	if (discovering)
		return discovered(r, kind, note, can_disable);
	if (__builtin_expect(
		    budget_due(r) || r->decisions_seen != function_throttle_decisions ||
			    (note && (note->watch || note->throttled || note->calls_unheard ||
				      layer_throttle_records(note->forward))),
		    0))
		return record_slow(r, kind, note, can_disable);
	ring_push_at(r, start, kind, note ? note->id : 0);
	if (budget_times(r))
		budget_timed(r, start);
	return py.None;
}

#define CALLBACK(name, kind, can_disable)                                       \
	static PyObject *name(PyObject *self, PyObject *const *args, ssize_t n) \
	{                                                                       \
		(void)self;                                                     \
		return n < 1 ? py.None : record(kind, args[0], can_disable);    \
	}

CALLBACK(on_start, RECORD_CALL, true)
CALLBACK(on_resume, RECORD_RESUME, true)
CALLBACK(on_throw, RECORD_THROW, false)
CALLBACK(on_return, RECORD_RETURN, true)
CALLBACK(on_yield, RECORD_YIELD, true)
CALLBACK(on_unwind, RECORD_UNWIND, false)

static struct {
	const char *event;
	uint8_t kind;
	struct py_method method;
} callbacks[] = {
#define ROW(event, kind, function)                                                         \
	{                                                                                  \
		event, kind,                                                               \
		{                                                                          \
			"inferscope", (py_function)(void (*)(void))function, PY_FAST, NULL \
		}                                                                          \
	}
	ROW("PY_START", RECORD_CALL, on_start),  ROW("PY_RESUME", RECORD_RESUME, on_resume),
	ROW("PY_THROW", RECORD_THROW, on_throw), ROW("PY_RETURN", RECORD_RETURN, on_return),
	ROW("PY_YIELD", RECORD_YIELD, on_yield), ROW("PY_UNWIND", RECORD_UNWIND, on_unwind),
#undef ROW
};

#define CALLBACKS (sizeof(callbacks) / sizeof(callbacks[0]))

/* sys.monitoring.NAME(tool, second[, third]); drops its arguments; -1 on an exception. */
static int monitoring_call(const char *name, PyObject *second, PyObject *third)
{
	PyObject *function = py.GetAttr(monitoring, name);
	PyObject *id = py.Long_From(tool);
	PyObject *result = NULL;

	if (function && id)
		result = py.CallWith(function, id, second, third, NULL);
	py_drop(function);
	py_drop(id);
	py_drop(second);
	py_drop(third);
	py_drop(result);
	if (result)
		return 0;
	py.Err_Clear();
	return -1;
}

static bool take_tool_id(void)
{
	for (size_t i = 0; i < sizeof(tool_ids) / sizeof(tool_ids[0]); i++) {
		tool = tool_ids[i];
		if (!monitoring_call("use_tool_id", py.Unicode_From("inferscope"), NULL))
			return true;
	}
	tool = -1;
	return false;
}

/* The value of sys.monitoring.events.NAME. */
static long event_bit(PyObject *events, const char *name)
{
	PyObject *value = py.GetAttr(events, name);
	long bit = value ? py.Long_As(value) : 0;

	py_drop(value);
	return bit;
}

static int set_events(long bits)
{
	return monitoring_call("set_events", py.Long_From(bits), NULL);
}

static bool is_unwinding(uint8_t kind)
{
	return kind == RECORD_UNWIND || kind == RECORD_THROW;
}

static bool register_callbacks(void)
{
	PyObject *events = py.GetAttr(monitoring, "events");

	all_events = unwinding_events = 0;
	for (size_t i = 0; events && i < CALLBACKS; i++) {
		long bit = event_bit(events, callbacks[i].event);
		PyObject *function = py.CFunction(&callbacks[i].method, NULL, NULL);

		if (!bit || !function ||
		    monitoring_call("register_callback", py.Long_From(bit), function))
			break;
		/* Seen once, each function's start and returns can be switched off; unwinding
		 * cannot. */
		if (!discovering || callbacks[i].kind == RECORD_CALL ||
		    callbacks[i].kind == RECORD_RETURN)
			all_events |= bit;
		if (is_unwinding(callbacks[i].kind))
			unwinding_events |= bit;
		if (i + 1 == CALLBACKS) {
			py_drop(events);
			return true;
		}
	}
	py_drop(events);
	py.Err_Clear();
	return false;
}

static void restart_disabled(void)
{
	PyObject *function = py.GetAttr(monitoring, "restart_events");
	PyObject *result = function ? py.Call(function, NULL) : NULL;

	py_drop(function);
	py_drop(result);
	py.Err_Clear();
	left_disabled = false;
}

/* Another tool may have switched places off for itself. */
static bool is_only_tool(void)
{
	PyObject *get_tool = py.GetAttr(monitoring, "get_tool");
	bool alone = get_tool != NULL;

	for (int i = 0; alone && i <= LAST_TOOL_ID; i++) {
		PyObject *id = py.Long_From(i);
		PyObject *name = id && i != tool ? py.CallWith(get_tool, id, NULL) : NULL;

		alone = i == tool || name == py.None;
		py_drop(id);
		py_drop(name);
	}
	py_drop(get_tool);
	py.Err_Clear();
	return alone;
}

static void obey(enum function_throttle_order order)
{
	if (order == FUNCTION_THROTTLE_NONE)
		return;
	if (order == FUNCTION_THROTTLE_UNWINDING) {
		if (!set_events(all_events & ~unwinding_events))
			function_throttle_unwinding_off();
		return;
	}
	if (!is_only_tool()) {
		function_throttle_never_trace_all();
		return;
	}
	set_events(all_events);
	restart_disabled();
	function_throttle_all_traced();
	layer_throttle_resume();
}

/* The cost of enabling all functions that are switched off. */
static uint64_t restart_ns(void)
{
	size_t known = code_table_count(&codes_index);

	/* Only functions that run again are instrumented again; a model runs some hundred. */
	return (known < RUN_AGAIN ? known : RUN_AGAIN) * (uint64_t)CODES_INSTRUMENT_NS;
}

/* Where functions are seen but once, all are seen once more then. */
static void listen_again(void)
{
	budget_spend_ns(restart_ns());
	if (!discovering) {
		obey(FUNCTION_THROTTLE_TRACE_ALL);
	} else if (is_only_tool()) {
		restart_disabled();
		left_disabled = true;
		layer_throttle_resume();
	}
}

/* Enables the events again if it is time to. */
static bool is_pausing_too_costly(void)
{
	enum layer_rest rest = layer_throttle_paused(restart_ns());

	if (rest == LAYER_REST_IS_OVER)
		listen_again();
	return rest == LAYER_REST_IS_DEAR;
}

/* Layers are known by what they run from now on, or by their calls again. */
static void take_turn(void)
{
	enum layer_turn turn = layer_throttle.turn;

	layer_throttle.turn = LAYER_TURN_NONE;
	if (turn == LAYER_TURN_TO_CALLS) {
		listen_again();
	} else if (is_only_tool()) {
		budget_spend_ns(restart_ns());
		restart_disabled();
		left_disabled = true;
	} else {
		layer_throttle_can_pause = false; /* events could not be enabled again */
		layer_throttle_resume();
	}
}

static void stop(void)
{
	if (tool < 0)
		return;
	native_scopes_stop();
	set_events(0);
	monitoring_call("free_tool_id", NULL, NULL);
	tool = -1;
}

static enum shm_refusal start(bool discover)
{
	PyObject *sys = py.Import("sys");

	if (!monitoring && sys)
		monitoring = py.GetAttr(sys, "monitoring");
	if (!disable && monitoring)
		disable = py.GetAttr(monitoring, "DISABLE");
	py_drop(sys);
	if (!monitoring || !disable) {
		py.Err_Clear();
		return SHM_REFUSED_API;
	}
	stop();
	discovering = discover;
	if (!take_tool_id())
		return SHM_REFUSED_NO_TOOL_ID;
	function_throttle_start();
	layer_throttle_reset();
	layer_throttle_can_pause = true;
	if (!discover)
		calibration_without_hook(CALIBRATION_CALLS + 1);
	if (!register_callbacks() || set_events(all_events)) {
		stop();
		return SHM_REFUSED_API;
	}
	if (!discover)
		native_scopes_start(monitoring, disable, tool);
	if (left_disabled)
		restart_disabled();
	left_disabled = discover;
	if (!discover)
		calibration_with_hook(CALIBRATION_CALLS + 1);
	return SHM_OK;
}

const struct calls_hook calls_monitoring = { NULL, start, stop };
