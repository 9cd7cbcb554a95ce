/*
 * Calls through PyEval_SetProfile() (CPython 3.8 to 3.11).
 *
 * The profile function is a field of each thread's state.  Ours is put there
 * for every thread at start, for a new one when _thread.start_new_thread()
 * returns in its creator (its state exists then and cannot have run yet), and
 * now and then for threads that C code made.  The fields are written directly:
 * the API reaches only the calling thread and raises an audit event each time.
 * A slot that someone else uses is left alone.
 *
 * Code that sets a profile function through the API displaces ours, and when it
 * removes its own the slot is empty.  An audit hook detects both; the trace
 * records it (RECORD_DISPLACED), and the interpreter is asked to call us as soon
 * as the slot has its new value.
 *
 * A profile function that replaces ours would first get the return of the call
 * that installed it, which it would not get without us; profile.Profile() takes
 * that for an error.  In the main thread, where the interpreter calls us before
 * the next instruction, its events are suppressed until then.
 *
 * Under a budget the slots are empty most of the time in programs that call a lot:
 * profile_throttle.h decides when.
 */
#include "agent/core/agent_threads.h"
#include "agent/hooks/server_requests.h"
#include "agent/overhead/calibration.h"
#include "agent/overhead/profile_throttle.h"
#include "agent/python/calls.h"
#include "agent/python/text.h"
#include "agent/torch/torch_hooks.h"
#include "agent/torch/torch_memory.h"

#include <string.h>

#define CHECK_EVERY 1024u /* events of one thread between checks for what no event reports */

/* Where the interpreter keeps things; checked against the running one before use. */
struct layout {
	uint32_t version;
	uint16_t profile_function; /* in the thread state; object and trace function follow */
	uint16_t busy;             /* in the thread state: no profile function is called if not 0 */
	uint16_t tracing;          /* the switch, in the thread state or behind its cframe */
	bool tracing_in_cframe;
	bool tracing_is_byte;
	uint16_t frame_code, frame_lasti; /* in the frame; 0: through the API */
	uint8_t lasti_unit;               /* bytes of bytecode that one step of lasti means */
};

static const struct layout layouts[] = {
	{ 0x0308, 56, 44, 48, false, false, 32, 104, 1 },
	{ 0x0309, 56, 44, 48, false, false, 32, 104, 1 },
	{ 0x030a, 56, 44, 48, true, false, 32, 96, 2 },
	{ 0x030b, 64, 44, 56, true, true, 0, 0, 1 },
};

#define TRACE_FUNCTION_AFTER 8u  /* c_tracefunc behind c_profilefunc */
#define PROFILE_OBJECT_AFTER 16u /* c_profileobj likewise */

/* That 3.8 to 3.11 agree on, where they have them. */
enum opcode {
	OP_YIELD_FROM = 72,
	OP_RETURN_GENERATOR = 75,
	OP_YIELD_VALUE = 86,
	OP_RESUME = 151,
};

static const struct layout *layout;
static PyObject *start_new_thread;
static bool attached, audited;
static char *deafened; /* the thread state whose new profile function gets no events yet */

static int on_event(PyObject *object, PyObject *frame, int what, PyObject *arg);

static py_trace_function *profile_slot(char *thread_state)
{
	return (py_trace_function *)(thread_state + layout->profile_function);
}

static void set_tracing(char *thread_state, bool on)
{
	char *at = thread_state + layout->tracing;

	if (layout->tracing_in_cframe)
		at = *(char **)at;
	if (layout->tracing_is_byte)
		*(uint8_t *)at = on ? 255 : 0;
	else
		*(int *)at = on;
}

/*
 * The list may grow at its head while we walk, without the GIL; it shrinks only
 * under the GIL, which we hold.  False: someone else has the slot of a thread.
 */
static bool attach_all_threads(void)
{
	bool all = true;
	char *t = py.Interpreter_ThreadHead(py.Interpreter_Main());

	for (; t; t = py.ThreadState_Next(t)) {
		py_trace_function *slot = profile_slot(t);

		if (!*slot) {
			*slot = on_event;
			set_tracing(t, true);
		}
		all &= *slot == on_event;
	}
	return all;
}

static void detach(char *t)
{
	py_trace_function *slot = profile_slot(t);

	if (*slot == on_event) {
		*slot = NULL;
		set_tracing(t, *(void **)((char *)slot + TRACE_FUNCTION_AFTER) != NULL);
	}
}

static void detach_all_threads(void)
{
	char *t = py.Interpreter_ThreadHead(py.Interpreter_Main());

	for (; t; t = py.ThreadState_Next(t))
		detach(t);
}

static void reattach_all_threads(void)
{
	attach_all_threads();
}

static const struct profile_throttle_slots slots = { reattach_all_threads, detach_all_threads };

/*
 * In a callback; the interpreter reads the slot when it returns.  Not through the API, which would
 * raise an audit event.
 */
static void empty_own_slot(void)
{
	*profile_slot(py.ThreadState_Get()) = NULL;
}

static int pause_here(void)
{
	struct ring *r = session_ring();

	empty_own_slot();
	if (r)
		profile_throttle_clear_slot(r);
	return 0;
}

/* The instruction that a generator's frame is at; NULL if unknown. */
static const uint8_t *instruction(const struct code_note *note, PyObject *frame)
{
	int64_t at = layout->frame_lasti ? *(int *)((char *)frame + layout->frame_lasti)
					 : py.Frame_GetLasti(frame);

	at *= layout->lasti_unit;
	return at >= 0 && at + 1 < note->bytecode_bytes ? note->bytecode + at : NULL;
}

static uint8_t entry_kind(const struct code_note *note, PyObject *frame)
{
	const uint8_t *op;

	if (!note || !note->bytecode)
		return RECORD_CALL;
	op = instruction(note, frame);
	if (!op) /* before the first instruction */
		return RECORD_CALL;
	if (layout->version < 0x030b)
		return RECORD_RESUME;
	/* 3.11 enters a new generator at RESUME 0, or at its creation when closed unused. */
	return op[0] == OP_RETURN_GENERATOR || (op[0] == OP_RESUME && op[1] == 0) ? RECORD_CALL
										  : RECORD_RESUME;
}

static uint8_t exit_kind(const struct code_note *note, PyObject *frame, PyObject *value)
{
	const uint8_t *op;

	if (!value)
		return RECORD_UNWIND;
	op = note && note->bytecode ? instruction(note, frame) : NULL;
	return op && (op[0] == OP_YIELD_VALUE || op[0] == OP_YIELD_FROM) ? RECORD_YIELD
									 : RECORD_RETURN;
}

/* *owned: a reference to drop after the note was used, or NULL. */
static inline struct code_note *note_of(struct ring *r, PyObject *frame, PyObject **owned)
{
	return codes_note(r, layout->frame_code ? *(PyObject **)((char *)frame + layout->frame_code)
						: (*owned = py.Frame_GetCode(frame)));
}

static int on_event(PyObject *object, PyObject *frame, int what, PyObject *arg)
{
	struct code_note *note;
	PyObject *owned = NULL;
	struct ring *r;

	(void)object;
	if (profile_throttle_event(what))
		return pause_here();
	if (what == PY_TRACE_C_RETURN && arg == start_new_thread && session_on())
		attach_all_threads();
	if (what != PY_TRACE_CALL && what != PY_TRACE_RETURN)
		return 0;
	r = session_ring();
	if (__builtin_expect(!r, 0)) {
		/* The recording is over: this thread runs free from now on. */
		if (!session_on())
			empty_own_slot();
		return 0;
	}
	if (profile_throttle_bounded())
		profile_throttle_enter(r, what);
	note = note_of(r, frame, &owned);
	calls_record(r,
		     what == PY_TRACE_CALL ? entry_kind(note, frame) : exit_kind(note, frame, arg),
		     note);
	if (owned)
		py.DecRef(owned);
	if (__builtin_expect(r->produced % CHECK_EVERY == 0, 0)) {
		attach_all_threads(); /* those that C code has made */
		torch_memory_poll(r);
	}
	return 0;
}

static void record_displaced(void)
{
	struct ring *r = session_ring();
	PyObject *frame = py.Frame_Now(), *owned = NULL;
	struct code_note *note = r && frame ? note_of(r, frame, &owned) : NULL;

	if (r)
		ring_push(r, RECORD_DISPLACED, note ? note->id : 0);
	py_drop(owned);
}

static int *busy(char *thread_state)
{
	return (int *)(thread_state + layout->busy);
}

static bool has_function(char *thread_state)
{
	py_trace_function *slot = profile_slot(thread_state);

	return *slot || *(void **)((char *)slot + TRACE_FUNCTION_AFTER);
}

static void undeafen(void)
{
	char *t = py.Interpreter_ThreadHead(py.Interpreter_Main());

	while (t && t != deafened)
		t = py.ThreadState_Next(t);
	if (t) {
		--*busy(t);
		set_tracing(t, !*busy(t) && has_function(t));
	}
	deafened = NULL;
}

static bool asked; /* a call of check_slots() is on its way; one is enough, the queue is short */

static int check_slots(void *unused)
{
	(void)unused;
	asked = false;
	if (deafened)
		undeafen();
	if (attached && session_on() && !profile_throttle_paused())
		attach_all_threads();
	return 0;
}

/*
 * Does the program surely still run?  When the outermost function is not one that a
 * program or a thread starts with, this may be a function of atexit, and there
 * Py_AddPendingCall() of 3.8 prints an error.
 */
static bool may_ask(void)
{
	static const char *const starts[] = { "<module>", "_run_module_as_main", "_bootstrap" };
	PyObject *frame = py.Frame_Now(), *outer = NULL, *code, *name;
	bool may = py.version >= 0x03090000;
	struct text t;

	if (may || !frame)
		return may;
	frame = py_new_ref(frame);
	while (frame && frame != py.None) {
		py_drop(outer);
		outer = frame;
		frame = py.GetAttr(frame, "f_back");
	}
	py_drop(frame);
	code = py.GetAttr(outer, "f_code");
	name = code ? py.GetAttr(code, "co_name") : NULL;
	t = text_of(name, 64);
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		may |= t.bytes == strlen(starts[i]) && !memcmp(t.data, starts[i], t.bytes);
	text_release(&t);
	py_drop(name);
	py_drop(code);
	py_drop(outer);
	return may;
}

/* Python's main thread will check the slots soon.  False: it will not. */
static bool request_slot_check(void)
{
	if (!asked && may_ask())
		asked = !py.PendingCall_Add(check_slots, NULL);
	return asked;
}

/* Runs in the thread whose profile function is about to be set. */
static int on_audit(const char *event, PyObject *args, void *data)
{
	bool called, ours, resting;
	char *t;

	(void)args;
	(void)data;
	if (!attached || strcmp(event, "sys.setprofile") != 0 || !session_on())
		return 0;
	t = py.ThreadState_Get();
	/* Where it cannot be asked, the next check for new threads will do. */
	called = request_slot_check();
	ours = *profile_slot(t) == on_event;
	resting = !*profile_slot(t) && profile_throttle_bounded() && profile_throttle_paused();
	if (!ours && !resting)
		return 0;
	record_displaced();
	/* A function put into an empty slot gets no return of its installation anyway. */
	if (ours && called && !deafened && is_first_thread()) {
		deafened = t;
		++*busy(t);
	}
	return 0;
}

/* Compares the frame layout with what Python says of the frame that is running now. */
static bool frame_is_as_expected(void)
{
	PyObject *frame = py_current_frame();
	PyObject *code = frame ? py.GetAttr(frame, "f_code") : NULL;
	PyObject *lasti = frame ? py.GetAttr(frame, "f_lasti") : NULL;
	bool same = false;

	if (code && lasti && layout->frame_code)
		same = *(PyObject **)((char *)frame + layout->frame_code) == code &&
		       (long)*(int *)((char *)frame + layout->frame_lasti) * layout->lasti_unit ==
			       py.Long_As(lasti);
	else if (code && lasti)
		same = py.Frame_GetCode && py.Frame_GetLasti &&
		       py.Frame_GetLasti(frame) == py.Long_As(lasti);
	py_drop(frame);
	py_drop(code);
	py_drop(lasti);
	py.Err_Clear();
	return same;
}

static bool python_has_profile(void)
{
	PyObject *function = py_call_sys("getprofile");
	bool has = function && function != py.None;

	py_drop(function);
	py.Err_Clear();
	return has;
}

/* Lets the API set the slot of this thread and checks whether it landed where we think it is. */
static bool thread_state_is_as_expected(void)
{
	char *t = py.ThreadState_Get();
	bool same;

	/*
	 * If the slot is in use, Python also has a function for it, unless the function is ours
	 * from another recording.
	 */
	if (*profile_slot(t))
		return *profile_slot(t) == on_event || python_has_profile();
	py.SetProfile(on_event, NULL);
	same = *profile_slot(t) == on_event &&
	       *(void **)(t + layout->profile_function + PROFILE_OBJECT_AFTER) == NULL;
	py.SetProfile(NULL, NULL);
	return same && *profile_slot(t) == NULL;
}

static enum shm_refusal prepare(void)
{
	if (layout)
		return SHM_OK;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (layouts[i].version == py.version >> 16)
			layout = &layouts[i];
	}
	if (!layout || !thread_state_is_as_expected() || !frame_is_as_expected()) {
		layout = NULL;
		return SHM_REFUSED_LAYOUT;
	}
	return SHM_OK;
}

static enum shm_refusal start(bool discover)
{
	struct shm_process *self = session_process();
	PyObject *module;

	torch_hooks_start();
	server_requests_start();
	if (discover) /* too expensive in a profile function, which runs at each call */
		return SHM_OK;
	if (prepare())
		return SHM_REFUSED_LAYOUT;
	if (!start_new_thread) {
		module = py.Import("_thread");
		start_new_thread = module ? py.GetAttr(module, "start_new_thread") : NULL;
		py_drop(module);
		py.Err_Clear();
	}
	/* It stays for the life of the process: there is no way to take one away. */
	if (!audited)
		audited = !py.AuditHook_Add(on_audit, NULL);
	py.Err_Clear();
	attached = true;
	calibration_without_hook(CALIBRATIONS);
	profile_throttle_start(&slots);
	if (!attach_all_threads() && self)
		atomic_store_explicit(&self->displaced, 1, memory_order_relaxed);
	calibration_with_hook(CALIBRATIONS);
	profile_throttle_set_costs();
	return SHM_OK;
}

static void stop(void)
{
	attached = false;
	torch_hooks_stop();
	server_requests_stop();
	profile_throttle_stop();
	if (layout)
		detach_all_threads();
}

const struct calls_hook calls_profile = { prepare, start, stop };
