/*
 * Calls through sys.monitoring (CPython 3.12 and later), callbacks in C.
 *
 * The events are switched on for the whole interpreter, so every thread is
 * covered, those that C code creates included.
 */
#include "agent/calls.h"

/*
 * Ids without a role in the documentation, then the optimizer's.  Those of
 * debuggers, coverage and profilers are left to the workload, which would
 * otherwise see them taken.
 */
static const int tool_ids[] = { 3, 4, 5 };

static int tool = -1;
static PyObject *monitoring; /* the module-like namespace sys.monitoring */
static PyObject *disable;    /* sys.monitoring.DISABLE */
static bool left_disabled;   /* some locations are switched off */
static bool discovering;     /* see calls_discover() */

static void stop(void);

/* Only functions that are watched are of interest a second time. */
static PyObject *discovered(uint8_t kind, const struct code_note *note, bool can_disable)
{
	if (note && note->watch)
		watch_event(note->watch, kind);
	else if (can_disable)
		return py_new_ref(disable);
	return py.None;
}

/* A callback's result needs no new reference: None and DISABLE outlive us, None is immortal. */
static inline PyObject *record(uint8_t kind, PyObject *code, bool can_disable)
{
	struct ring *r = session_ring();

	if (__builtin_expect(!r, 0)) {
		if (!session_on()) /* over: no function costs anything from now on */
			stop();
		return py.None;
	}
	if (discovering)
		return discovered(kind, codes_note(r, code), can_disable);
	calls_record(r, kind, codes_note(r, code));
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

static bool register_callbacks(void)
{
	PyObject *events = py.GetAttr(monitoring, "events");
	long all = 0;

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
			all |= bit;
		if (i + 1 == CALLBACKS) {
			py_drop(events);
			return !monitoring_call("set_events", py.Long_From(all), NULL);
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

static void stop(void)
{
	if (tool < 0)
		return;
	monitoring_call("set_events", py.Long_From(0), NULL);
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
	if (!register_callbacks()) {
		stop();
		return SHM_REFUSED_API;
	}
	if (left_disabled)
		restart_disabled();
	left_disabled = discover;
	return SHM_OK;
}

const struct calls_hook calls_monitoring = { NULL, start, stop };
